package reflector

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
)

// Shard returns a source of those objects of source that selector selects by the hash of their
// uid or namespace, for controllers whose replicas divide the objects of one collection among
// them (KEP-5866). [EvenShard] makes the usual selector.
//
// Servers with feature gate ShardedListAndWatch (alpha in Kubernetes 1.36, beta and on by default
// in 1.38) send only these objects. Other servers ignore the selector and send all objects; Shard
// then drops the rest, at the cost of decoding them. A list that the server made with another
// selector ends with [ErrProtocol].
//
// The hash is FNV-1a. It spreads random uids evenly, but hardly spreads names that differ only
// in their last characters, as namespaces may.
//
// Objects need metadata: one without is reported as an [*ObjectError] and skipped. Shard
// returns [ErrInvalid], wrapped, for a selector that selects everything or that servers refuse.
func Shard[T any](source Source[T], selector sharding.Selector) (Source[T], error) {
	ranges, err := parseShard(selector)
	if err != nil {
		return nil, err
	}
	asked := selector.String()
	return newAdapter(adapter[T, T]{
		source:  source,
		convert: keepAsked(func(obj T) (bool, error) { return ranges.has(obj) }), // neither uid nor namespace ever changes
		request: func(opts *metav1.ListOptions) { opts.ShardSelector = asked },
		checkList: func(page metav1.ListMeta) error {
			return CheckShard(page, asked)
		},
	}), nil
}

// CheckShard returns [ErrProtocol], wrapped, if a list is of another shard than the one asked for. A list
// that does not say what it is of passes.
func CheckShard(page metav1.ListMeta, asked string) error {
	if page.ShardInfo != nil && page.ShardInfo.Selector != asked {
		return fmt.Errorf("%w: asked for %q, got %q", errOtherShard, asked, page.ShardInfo.Selector)
	}
	return nil
}

// The fields that a shard can be made by.
const (
	ShardUID       = "object.metadata.uid"
	ShardNamespace = "object.metadata.namespace"
)

// ShardHash returns the hash of the text of a field, by which servers divide objects.
func ShardHash(text string) uint64 { return fnv64a(text) }

// ShardHashOf returns the function that returns the hash of an object by field, which is [ShardUID]
// or [ShardNamespace]. An object without metadata counts as one without text. Errors:
// [ErrInvalid], wrapped.
func ShardHashOf[T any](field string) (func(T) uint64, error) {
	if field != ShardUID && field != ShardNamespace {
		return nil, fmt.Errorf("%w: cannot shard by %q", errBadShard, field)
	}
	s := shardRange{byNamespace: field == ShardNamespace}
	return func(object T) uint64 {
		h, _ := s.hash(object)
		return h
	}, nil
}

// ShardRange selects the objects with a hash from first to last, both included, by field:
// [ShardUID] or [ShardNamespace].
func ShardRange(field string, first, last uint64) sharding.ShardRangeRequirement {
	r := sharding.ShardRangeRequirement{Key: field, Start: fmt.Sprintf("0x%016x", first), End: endOfHashes}
	if last != ^uint64(0) {
		r.End = fmt.Sprintf("0x%016x", last+1)
	}
	return r
}

// EvenShard selects shard n, counted from 0, of count shards of equal size, by uid. The count
// shards together select every object exactly once. It returns [ErrInvalid], wrapped, unless
// 0 <= n < count.
func EvenShard(n, count int) (sharding.Selector, error) {
	if n < 0 || n >= count {
		return nil, fmt.Errorf("%w: no shard %d of %d", errBadShard, n, count)
	}
	width := ^uint64(0) / uint64(count)
	bound := func(n int) uint64 { return width * uint64(n) }
	if n == count-1 {
		return sharding.NewSelector(ShardRange(ShardUID, bound(n), ^uint64(0))), nil
	}
	return sharding.NewSelector(ShardRange(ShardUID, bound(n), bound(n+1)-1)), nil
}

// endOfHashes is 2^64, the end of the last range, and the only bound without sixteen digits.
const endOfHashes = "0x10000000000000000"

// shardRange is a parsed selector.
type shardRange struct {
	byNamespace bool
	ranges      []hashRange
}

// hashRange holds the hashes from first to last, both included.
type hashRange struct{ first, last uint64 }

func parseShard(selector sharding.Selector) (shardRange, error) {
	if selector == nil || selector.Empty() {
		return shardRange{}, fmt.Errorf("%w: it selects everything", errBadShard)
	}
	var s shardRange
	for n, r := range selector.Requirements() {
		if r.Key != ShardUID && r.Key != ShardNamespace {
			return s, fmt.Errorf("%w: cannot shard by %q", errBadShard, r.Key)
		}
		byNamespace := r.Key == ShardNamespace
		if n > 0 && byNamespace != s.byNamespace {
			return s, fmt.Errorf("%w: %q is by uid and by namespace", errBadShard, selector)
		}
		s.byNamespace = byNamespace
		first, err := parseHash(r.Start)
		last := ^uint64(0)
		if err == nil && r.End != endOfHashes {
			last, err = parseHash(r.End)
			last--
		}
		if err != nil {
			return s, err
		}
		if last < first || last == ^uint64(0) && r.End != endOfHashes {
			return s, fmt.Errorf("%w: the range from %s to %s is empty", errBadShard, r.Start, r.End)
		}
		s.ranges = append(s.ranges, hashRange{first, last})
	}
	return s, nil
}

// parseHash reads a bound in the form that servers compare and echo: sixteen lower-case
// digits.
func parseHash(text string) (uint64, error) {
	digits, ok := strings.CutPrefix(text, "0x")
	h, err := strconv.ParseUint(digits, 16, 64)
	if !ok || err != nil || len(digits) != 16 || strings.ToLower(digits) != digits {
		return 0, fmt.Errorf("%w: bound %q is not 0x and sixteen lower-case hexadecimal digits", errBadShard, text)
	}
	return h, nil
}

// has reports whether object is in the shard.
func (s shardRange) has(object any) (bool, error) {
	h, err := s.hash(object)
	if err != nil {
		return false, err
	}
	for _, r := range s.ranges {
		if r.first <= h && h <= r.last {
			return true, nil
		}
	}
	return false, nil
}

// hash returns the hash of an object.
func (s shardRange) hash(object any) (uint64, error) {
	m, err := meta.Accessor(object)
	switch {
	case err != nil:
		return fnv64a(""), err
	case s.byNamespace:
		return fnv64a(m.GetNamespace()), nil
	}
	return fnv64a(string(m.GetUID())), nil
}

// fnv64a is the 64-bit FNV-1a hash that shards divide. Package hash/fnv would allocate for
// every object.
func fnv64a(s string) uint64 {
	h := uint64(14695981039346656037)
	for n := range len(s) {
		h ^= uint64(s[n])
		h *= 1099511628211
	}
	return h
}
