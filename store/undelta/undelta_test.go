package undelta

import (
	"errors"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// object is an object with its own key.
type object struct{ key, value int }

var errNegative = errors.New("negative key")

func keyOf(o object) (int, error) {
	if o.key < 0 {
		return 0, errNegative
	}
	return o.key, nil
}

// pushed is the last push of a store.
type pushed struct {
	calls int
	all   map[int]object
	rv    string
}

func (p *pushed) push(s store.Snapshot[int, object]) {
	p.calls++
	p.all, p.rv = maps.Collect(s.All()), s.ResourceVersion()
}

func newStore(t *testing.T, push func(store.Snapshot[int, object])) *Store[int, object] {
	t.Helper()
	u, err := New(keyOf, push, store.Options[object]{})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// After any writes the last push equals a map with the same writes. A write that fails changes
// nothing and pushes nothing.
func TestAgainstModel(t *testing.T) {
	for seed := range 50 {
		rnd := rand.New(rand.NewPCG(uint64(seed), 1))
		var p pushed
		u := newStore(t, p.push)
		model, calls, closed, rv := map[int]object{}, 0, false, ""
		for step := range 200 {
			key := rnd.IntN(10) // zero is refused
			obj := object{key, step}
			var err error
			fails := closed
			switch op := rnd.IntN(20); {
			case op < 8:
				fails = fails || key == 0
				if err = u.Set(obj); !fails {
					model[key] = obj
				}
			case op < 13:
				fails = fails || key == 0
				old, had, e := u.Delete(key)
				want, wantHad := model[key]
				if err = e; !fails && (old != want || had != wantHad) {
					t.Fatalf("deleted %v, %t, want %v, %t", old, had, want, wantHad)
				} else if !fails {
					delete(model, key)
				}
			case op < 16:
				next := map[int]object{}
				for range rnd.IntN(5) {
					k := 1 + rnd.IntN(10)
					next[k] = object{k, step}
				}
				objs := []object{}
				for _, o := range next {
					objs = append(objs, o)
				}
				if bad := rnd.IntN(4) == 0; bad {
					objs, fails = append(objs, object{-1, 0}), true
				}
				if err = u.Replace(objs, strconv.Itoa(step+1)); !fails {
					model, rv = next, strconv.Itoa(step+1)
				}
			case op < 19:
				ops := []store.Op[int, object]{
					{Key: 1, Object: object{1, step}}, {Key: 2, Delete: true}, {Key: 0, Delete: true},
				}
				if err = u.Commit(strconv.Itoa(step+1), ops); !fails {
					model[1], rv = object{1, step}, strconv.Itoa(step+1)
					delete(model, 2)
				}
			case step > 150:
				u.Close()
				closed, fails = true, true
				err = u.Set(object{1, 1})
			default:
				continue
			}
			if !fails {
				calls++
			}
			if (err != nil) != fails || p.calls != calls || closed && !errors.Is(err, store.ErrClosed) {
				t.Fatalf("got error %v, %d calls, want %d; closed: %t", err, p.calls, calls, closed)
			}
			if !maps.Equal(p.all, model) || !maps.Equal(maps.Collect(u.All()), model) || p.rv != rv {
				t.Fatalf("pushed %v at %q, want %v at %q", p.all, p.rv, model, rv)
			}
		}
	}
}

// Reading is not a change.
func TestReadsDoNotPush(t *testing.T) {
	var p pushed
	u := newStore(t, p.push)
	if _, ok := u.Get(1); ok || u.Len() != 0 || len(u.List()) != 0 || u.ResourceVersion() != "" || p.calls != 0 {
		t.Errorf("%d calls", p.calls)
	}
}

// Concurrent writes are pushed one by one, each with the state right after it: every push
// has one object more than the one before.
func TestPushesInOrder(t *testing.T) {
	const writers, each = 8, 100
	last := 0
	var u *Store[int, object]
	u = newStore(t, func(s store.Snapshot[int, object]) {
		if s.Len() != last+1 || u.Len() != s.Len() {
			t.Errorf("%d objects pushed after %d, %d in the store", s.Len(), last, u.Len())
		}
		last = s.Len()
	})
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := u.Set(object{1 + w*each + i, 0}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if last != writers*each {
		t.Errorf("%d objects in the end", last)
	}
}

// A snapshot that was pushed stays as it is.
func TestPushedStays(t *testing.T) {
	var got []store.Snapshot[int, object]
	u := newStore(t, func(s store.Snapshot[int, object]) { got = append(got, s) })
	for key := 1; key <= 10; key++ {
		if err := u.Set(object{key, key}); err != nil {
			t.Fatal(err)
		}
	}
	if err := u.Replace(nil, ""); err != nil {
		t.Fatal(err)
	}
	for i, s := range got {
		if want := (i + 1) % 11; s.Len() != want || len(s.List()) != want {
			t.Errorf("push %d has %d objects", i, s.Len())
		}
	}
}

// A panic in push leaves no lock behind, and the change in the store.
func TestPushPanics(t *testing.T) {
	calm := false
	u := newStore(t, func(store.Snapshot[int, object]) {
		if !calm {
			panic("push")
		}
	})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_ = u.Set(object{1, 1})
	}()
	calm = true
	if err := u.Set(object{2, 2}); err != nil || u.Len() != 2 {
		t.Errorf("got error %v, %d objects", err, u.Len())
	}
}

func TestNewRefusesMisuse(t *testing.T) {
	if _, err := New(keyOf, nil, store.Options[object]{}); !errors.Is(err, ErrNoPush) {
		t.Errorf("got error %v", err)
	}
	var p pushed
	if _, err := New(nil, p.push, store.Options[object]{}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("got error %v", err)
	}
}

// BenchmarkSet changes one object of many. Its push only counts the objects.
func BenchmarkSet(b *testing.B) {
	for _, size := range []int{100, 100_000} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			u, err := New(keyOf, func(s store.Snapshot[int, object]) { _ = s.Len() }, store.Options[object]{})
			if err != nil {
				b.Fatal(err)
			}
			objs := make([]object, size)
			for i := range objs {
				objs[i].key = i + 1
			}
			if err := u.Replace(objs, ""); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_ = u.Set(objs[i%size])
			}
		})
	}
}
