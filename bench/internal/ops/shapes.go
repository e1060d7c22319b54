package ops

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/store"
)

// shapes are operations on small objects that a store with a general structure is tempted to be
// slow at.
func shapes(w *World) []measure.Op {
	const least = 1.1
	n := w.Pods
	few := min(n, 1000)
	return []measure.Op{
		shape("get/cold", "get of a key that is not in the processor's cache", least, n, 3, (*shelf).getCold),
		shape("set/same/no-index", "small objects: stored again, no index", least, n, 0, (*shelf).setSame),
		shape("set/same", "small objects: stored again, 3 indexes", least, n, 3, (*shelf).setSame),
		shape("set/same/hot", "1,000 small objects: stored again, 3 indexes", least, few, 3, (*shelf).setSame),
		shape("set/same/hot/no-index", "1,000 small objects: stored again, no index", least, few, 0, (*shelf).setSame),
		shape("set/new", "small objects: update just made, 3 indexes", least, n, 3, (*shelf).setNew),
		shape("set/new/64", "small objects: 64 updates just made in one commit, 3 indexes", least, n, 3, (*shelf).commitNew),
		shape("set/new/50-indexes", "small objects: update just made, 50 indexes, same values", least, n, 50, (*shelf).setNew),
		shape("churn", "small objects: a key that was never seen for the oldest one, 3 indexes", least, few, 3, (*shelf).churn),
		shape("set/delete-add/one-value", "small objects: delete and add, one value for all", least, n, 1, (*shelf).deleteAdd),
	}
}

// shelf is the two stores full of the same items.
type shelf struct {
	items   []*item
	keys    []key
	kinform *store.Store[key, *item]
	peer    cache.Indexer
}

// shape is an operation on stores of n items with some indexes.
func shape(name, title string, goal float64, n, indexes int, sides func(*shelf) measure.Sides) measure.Op {
	return measure.Op{
		Name:  name,
		Lines: line(title, measure.Nanoseconds, goal),
		Setup: func() (measure.Sides, error) {
			items, keys, _ := newItems(n)
			ours, theirs := manyIndexes(indexes)
			s, err := newShelf(items, keys, ours, theirs)
			if err != nil {
				return measure.Sides{}, err
			}
			return sides(s), nil
		},
	}
}

// manyIndexes returns n indexes for both sides. A single index has the same value for all items.
// Several indexes take the node, the application and the namespace in turns.
func manyIndexes(n int) (ours []index.Definition[*item], theirs cache.Indexers) {
	funcs := []func(*item) string{
		func(x *item) string { return x.node },
		func(x *item) string { return x.app },
		func(x *item) string { return x.Namespace },
	}
	if n == 1 {
		funcs = []func(*item) string{func(*item) string { return "all" }}
	}
	theirs = cache.Indexers{}
	for i := range n {
		f, name := funcs[i%len(funcs)], fmt.Sprint("index-", i)
		ours = append(ours, index.New(name, func(dst []string, x *item) []string { return append(dst, f(x)) }))
		theirs[name] = func(obj any) ([]string, error) { return []string{f(obj.(*item))}, nil }
	}
	return ours, theirs
}

func newShelf(items []*item, keys []key, ours []index.Definition[*item], theirs cache.Indexers) (*shelf, error) {
	s, err := store.New(store.ObjectKey, store.Options[*item]{Indexes: ours})
	if err != nil {
		return nil, err
	}
	if err := writeList(s, items); err != nil {
		return nil, err
	}
	all := make([]any, len(items))
	for i, x := range items {
		all[i] = x
	}
	peer := cache.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc, theirs)
	return &shelf{items: items, keys: keys, kinform: s, peer: peer}, peer.Replace(all, "1")
}

// at returns the i-th item, in an order that no cache predicts.
func (s *shelf) at(i int) *item { return s.items[scatter(i%len(s.items), len(s.items))] }

// made returns a newer state of the i-th item, in new memory as if a decoder had made it.
func (s *shelf) made(i int) *item {
	old := s.at(i)
	return &item{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       string([]byte(old.Namespace)),
			Name:            string([]byte(old.Name)),
			ResourceVersion: string([]byte(old.ResourceVersion)),
		},
		node: string([]byte(old.node)),
		app:  string([]byte(old.app)),
	}
}

func (s *shelf) getCold() measure.Sides {
	n := len(s.keys)
	return measure.Sides{
		Kinform: measure.Side{Run: loop(func(i int) error {
			_, ok := s.kinform.Get(s.keys[scatter(i%n, n)])
			return found(btoi(ok), 1)
		})},
		ClientGo: measure.Side{Run: loop(func(i int) error {
			k := &s.keys[scatter(i%n, n)]
			_, ok, _ := s.peer.GetByKey(k.Namespace + "/" + k.Name)
			return found(btoi(ok), 1)
		})},
	}
}

func (s *shelf) setSame() measure.Sides {
	return measure.Sides{
		Kinform:  measure.Side{Run: loop(func(i int) error { return s.kinform.Set(s.at(i)) })},
		ClientGo: measure.Side{Run: loop(func(i int) error { return s.peer.Update(s.at(i)) })},
	}
}

// setNew stores 64 items at a time that were made just before.
func (s *shelf) setNew() measure.Sides {
	return measure.Sides{
		Kinform: measure.Side{Run: s.madeInBlocks(func(all []*item) error {
			for _, x := range all {
				if err := s.kinform.Set(x); err != nil {
					return err
				}
			}
			return nil
		})},
		ClientGo: measure.Side{Run: s.madeInBlocks(s.updatePeer)},
	}
}

func (s *shelf) commitNew() measure.Sides {
	ops := make([]store.Op[key, *item], 0, madeBlock)
	return measure.Sides{
		Kinform: measure.Side{Run: s.madeInBlocks(func(all []*item) error {
			ops = ops[:0]
			for _, x := range all {
				ops = append(ops, store.Op[key, *item]{Key: key{Namespace: x.Namespace, Name: x.Name}, Object: x})
			}
			return s.kinform.Commit("", ops)
		})},
		ClientGo: measure.Side{Run: s.madeInBlocks(s.updatePeer)},
	}
}

func (s *shelf) updatePeer(all []*item) error {
	for _, x := range all {
		if err := s.peer.Update(x); err != nil {
			return err
		}
	}
	return nil
}

const madeBlock = 64

// madeInBlocks calls f with new states of the items, a block of them at a time, and reports the
// processor time of f. Their making does not count.
func (s *shelf) madeInBlocks(f func([]*item) error) func(measure.Meter, int) error {
	next := 0
	var all []*item
	return func(m measure.Meter, n int) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		spent := time.Duration(0)
		for left := n; left > 0; left -= len(all) {
			all = all[:0]
			for range min(left, madeBlock) {
				all = append(all, s.made(next))
				next++
			}
			start := threadTime()
			if err := f(all); err != nil {
				return err
			}
			spent += threadTime() - start
		}
		m.ReportMetric(float64(spent)/float64(n), measure.Nanoseconds)
		return nil
	}
}

func (s *shelf) deleteAdd() measure.Sides {
	return measure.Sides{
		Kinform: measure.Side{Run: loop(func(i int) error {
			x := s.at(i)
			if _, had, err := s.kinform.Delete(key{Namespace: x.Namespace, Name: x.Name}); err != nil || !had {
				return found(0, 1)
			}
			return s.kinform.Set(x)
		})},
		ClientGo: measure.Side{Run: loop(func(i int) error {
			x := s.at(i)
			if err := s.peer.Delete(x); err != nil {
				return err
			}
			return s.peer.Add(x)
		})},
	}
}

// churn replaces the oldest object by one with a new key, over and over, as short-lived objects
// such as Jobs and Events do. A report has some millions of them. The making of objects does not
// count.
func (s *shelf) churn() measure.Sides {
	side := func(remove, add func(*item) error) measure.Side {
		next, live := 0, slices.Clone(s.items)
		return measure.Side{Run: func(m measure.Meter, n int) error {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			spent := time.Duration(0)
			made := make([]*item, 0, madeBlock)
			for left := n; left > 0; left -= len(made) {
				made = made[:0]
				for range min(left, madeBlock, len(live)) {
					x := s.made(next + len(made))
					x.Name = "short-lived-" + strconv.Itoa(next+len(made))
					made = append(made, x)
				}
				start := threadTime()
				for _, x := range made {
					oldest := &live[next%len(live)]
					if err := remove(*oldest); err != nil {
						return err
					}
					if err := add(x); err != nil {
						return err
					}
					*oldest = x
					next++
				}
				spent += threadTime() - start
			}
			m.ReportMetric(float64(spent)/float64(n), measure.Nanoseconds)
			return nil
		}}
	}
	return measure.Sides{
		Kinform: side(func(x *item) error {
			_, had, err := s.kinform.Delete(key{Namespace: x.Namespace, Name: x.Name})
			return errors.Join(err, found(btoi(had), 1))
		}, s.kinform.Set),
		ClientGo: side(func(x *item) error { return s.peer.Delete(x) }, func(x *item) error { return s.peer.Add(x) }),
	}
}
