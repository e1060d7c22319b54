package store

import "testing"

// TestKeep: the store keeps what it has where the caller says so, in commits of every size
// and with or without Options.Unchanged, unless the server went back in time.
func TestKeep(t *testing.T) {
	for _, unchanged := range []func(old, new *item) bool{nil, func(_, _ *item) bool { return false }} {
		for _, n := range []int{1, 2, 100, 5000} {
			s := newStore(t, ^uint32(0), Options[*item]{Unchanged: unchanged})
			ops := func(keep bool) (ops []Op[id, *item]) {
				for i := range n {
					obj := &item{id: id{"a", i}}
					ops = append(ops, Op[id, *item]{Key: obj.id, Object: obj, Keep: keep && i%2 == 0})
				}
				return ops
			}
			first := ops(true) // there is nothing to keep yet
			_ = s.Commit("1", first)
			second := ops(true)
			_ = s.Commit("2", second)
			for i, op := range second {
				got, _ := s.Get(op.Key)
				if kept := i%2 == 0; op.Unchanged != kept || op.Old != first[i].Object || (got == first[i].Object) != kept {
					t.Fatalf("%d ops: op %d is unchanged %t, want %t", n, i, op.Unchanged, kept)
				}
			}
		}
	}
}
