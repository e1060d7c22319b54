package shard

import (
	"fmt"

	"k8s.io/apimachinery/pkg/sharding"

	"github.com/kinform/kinform/internal/sharded"
)

// Even selects shard n, counted from 0, of count shards of equal size, by uid. The count
// shards together select every object exactly once. It is for reflector.Shard, if their
// number never changes. It returns reflector.ErrInvalid, wrapped, unless
// 0 <= n < count.
func Even(n, count int) (sharding.Selector, error) {
	if n < 0 || n >= count {
		return nil, fmt.Errorf("%w: no shard %d of %d", sharded.ErrBad, n, count)
	}
	width := ^uint64(0) / uint64(count)
	bound := func(n int) uint64 { return width * uint64(n) }
	if n == count-1 {
		return sharding.NewSelector(sharded.Range(sharded.UID, bound(n), ^uint64(0))), nil
	}
	return sharding.NewSelector(sharded.Range(sharded.UID, bound(n), bound(n+1)-1)), nil
}
