// Package shards reads the shardSelector of a list or watch (KEP-5866) and matches objects
// with it.
package shards

import (
	"fmt"
	"strings"
	"text/scanner"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
)

// The fields by whose hash objects are split.
const (
	byUID       = "object.metadata.uid"
	byNamespace = "object.metadata.namespace"
)

// Selector is a union of ranges of the hash of one field, the uid or the namespace. It is
// immutable and safe for concurrent use. Make one with [Parse].
type Selector struct {
	ranges []sharding.ShardRangeRequirement // never empty; all of one field
	text   string
}

// Parse reads shardRange(FIELD, 'START', 'END') || …, the part of CEL that the API server
// accepts. Errors have the API server's words.
func Parse(text string) (*Selector, error) {
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("empty shard selector is not allowed; omit the parameter for unfiltered lists")
	}
	p := newParser(text)
	ranges, err := p.union()
	if err == nil && p.tok != scanner.EOF {
		err = p.unexpected()
	}
	if err != nil {
		return nil, err
	}
	for _, r := range ranges[1:] {
		if r.Key != ranges[0].Key {
			return nil, fmt.Errorf("all shard ranges must use the same field, got %q and %q", ranges[0].Key, r.Key)
		}
	}
	return &Selector{ranges, sharding.NewSelector(ranges...).String()}, nil
}

// String returns the selector as the API server repeats it in a list's ShardInfo.
func (s *Selector) String() string { return s.text }

// Matches reports whether obj is in one of the ranges.
func (s *Selector) Matches(obj metav1.Object) bool {
	value := string(obj.GetUID())
	if s.ranges[0].Key == byNamespace {
		value = obj.GetNamespace()
	}
	hash := "0x" + sharding.HashField(value)
	for _, r := range s.ranges {
		if !sharding.HexLess(hash, r.Start) && sharding.HexLess(hash, r.End) {
			return true
		}
	}
	return false
}
