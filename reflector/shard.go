package reflector

import (
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"

	"github.com/kinform/kinform/internal/sharded"
)

// Shard returns a source of those objects of source that selector selects by the hash of their
// uid or namespace, for controllers whose replicas divide the objects of one collection among
// them (KEP-5866). shard.Even makes the usual selector.
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
			return sharded.CheckList(page, asked)
		},
	}), nil
}

// shardRange is a parsed selector.
type shardRange struct {
	byNamespace bool
	ranges      []hashRange
}

// hashRange holds the hashes from first to last, both included.
type hashRange struct{ first, last uint64 }

func parseShard(selector sharding.Selector) (shardRange, error) {
	if selector == nil || selector.Empty() {
		return shardRange{}, fmt.Errorf("%w: it selects everything", sharded.ErrBad)
	}
	var s shardRange
	for n, r := range selector.Requirements() {
		if r.Key != sharded.UID && r.Key != sharded.Namespace {
			return s, fmt.Errorf("%w: cannot shard by %q", sharded.ErrBad, r.Key)
		}
		byNamespace := r.Key == sharded.Namespace
		if n > 0 && byNamespace != s.byNamespace {
			return s, fmt.Errorf("%w: %q is by uid and by namespace", sharded.ErrBad, selector)
		}
		s.byNamespace = byNamespace
		first, err := parseHash(r.Start)
		last := ^uint64(0)
		if err == nil && r.End != sharded.EndOfHashes {
			last, err = parseHash(r.End)
			last--
		}
		if err != nil {
			return s, err
		}
		if last < first || last == ^uint64(0) && r.End != sharded.EndOfHashes {
			return s, fmt.Errorf("%w: the range from %s to %s is empty", sharded.ErrBad, r.Start, r.End)
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
		return 0, fmt.Errorf("%w: bound %q is not 0x and sixteen lower-case hexadecimal digits", sharded.ErrBad, text)
	}
	return h, nil
}

// has reports whether object is in the shard.
func (s shardRange) has(object any) (bool, error) {
	h, err := sharded.Hash(object, s.byNamespace)
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
