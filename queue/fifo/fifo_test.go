package fifo

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/internal/waittest"
)

// model is a FIFO that is too simple to be wrong: a slice that is searched.
type model struct {
	items  []modelItem
	out    bool // an unsynced item was popped and is not processed
	listed bool
	synced bool
	closed bool
}

type modelItem struct {
	Item[int, int]
	unsynced bool
}

func (m *model) find(key int) int {
	return slices.IndexFunc(m.items, func(it modelItem) bool { return it.Key == key })
}

func (m *model) add(key, obj int) {
	if i := m.find(key); i >= 0 {
		m.items[i].Object = obj
	} else {
		m.items = append(m.items, modelItem{Item: Item[int, int]{Key: key, Object: obj}})
	}
}

func (m *model) replace(items []Item[int, int]) {
	m.items, m.listed = nil, true
	for _, item := range items {
		m.add(item.Key, item.Object)
	}
	for i := range m.items {
		m.items[i].Initial, m.items[i].unsynced = !m.synced, !m.synced
	}
	m.look()
}

// look finds out whether the initial list is through.
func (m *model) look() {
	unsynced := slices.ContainsFunc(m.items, func(it modelItem) bool { return it.unsynced })
	m.synced = m.synced || m.listed && !unsynced && !m.out
}

func (m *model) take() (modelItem, error) {
	switch {
	case len(m.items) > 0:
		first := m.items[0]
		m.items = slices.Delete(m.items, 0, 1)
		return first, nil
	case m.closed:
		return modelItem{}, ErrClosed
	}
	return modelItem{}, context.Canceled
}

func (m *model) newError() error {
	if m.closed {
		return ErrClosed
	}
	return nil
}

// script runs operations on a queue and its model and compares them after each.
type script struct {
	t      *testing.T
	choose chooser
	keys   int
	queue  *FIFO[int, int]
	model  model
	object int
}

func newScript(t *testing.T, choose chooser) *script {
	return &script{t: t, choose: choose, keys: []int{1, 3, 10, 100}[choose.IntN(4)], queue: New[int, int]()}
}

func (s *script) step() {
	m := &s.model
	key := s.choose.IntN(s.keys)
	s.object++
	switch op := s.choose.IntN(40); {
	case op < 12:
		wantErr(s.t, s.queue.Add(key, s.object), m.newError())
		if !m.closed {
			m.add(key, s.object)
		}
	case op < 16:
		added, err := s.queue.AddIfNotPresent(key, s.object)
		wantErr(s.t, err, m.newError())
		if want := !m.closed && m.find(key) < 0; added != want {
			s.t.Fatalf("added: %t, want %t", added, want)
		} else if added {
			m.add(key, s.object)
		}
	case op < 20:
		s.delete(key)
	case op < 22:
		s.replace()
	case op < 30:
		s.pop()
	case op < 37:
		s.process()
	case op < 38 && s.choose.IntN(20) == 0:
		s.queue.Close()
		m.closed = true
	}
	s.compare()
}

func (s *script) delete(key int) {
	m := &s.model
	obj, had := s.queue.Delete(key)
	i := m.find(key)
	if had != (i >= 0) || had && m.items[i].Object != obj {
		s.t.Fatalf("deleted %d, %t; was at %d of %v", obj, had, i, m.items)
	}
	if had {
		m.items = slices.Delete(m.items, i, i+1)
		m.look()
	}
}

func (s *script) replace() {
	var items []Item[int, int]
	for range s.choose.IntN(s.keys + 1) {
		s.object++
		items = append(items, Item[int, int]{Key: s.choose.IntN(s.keys), Object: s.object, Initial: s.object%2 == 0})
	}
	wantErr(s.t, s.queue.Replace(items), s.model.newError())
	if !s.model.closed {
		s.model.replace(items)
	}
}

func (s *script) pop() {
	m := &s.model
	got, err := s.queue.Pop(never)
	m.out = false
	m.look()
	want, wantError := m.take()
	m.out = want.unsynced
	wantErr(s.t, err, wantError)
	if got != want.Item {
		s.t.Fatalf("got %v, want %v", got, want.Item)
	}
}

// process takes an item by Process, whose function uses the queue, and may fail or panic.
func (s *script) process() {
	m := &s.model
	if len(m.items) == 0 && !m.closed {
		wantErr(s.t, s.queue.Process(never, nil), context.Canceled)
		return
	}
	want, wantError := m.take()
	out := m.out // of an earlier Pop
	end := s.choose.IntN(3)
	defer func() {
		if recover() == nil {
			return
		}
		m.out = out
		if i := m.find(want.Key); i < 0 {
			m.items = append(m.items, want)
		} else if want.unsynced {
			m.items[i].unsynced, m.items[i].Initial = true, true
		}
		m.look()
	}()
	err := s.queue.Process(context.Background(), func(got Item[int, int]) error {
		m.out = out || want.unsynced
		if got != want.Item {
			s.t.Fatalf("got %v, want %v", got, want.Item)
		}
		s.inProcess()
		switch end {
		case 0:
			return nil
		case 1:
			return errFails
		}
		panic(errFails)
	})
	m.out = out
	if wantError != nil {
		wantErr(s.t, err, wantError)
		return
	}
	m.look()
	s.processed(want.Item, end == 1, err)
}

// inProcess does something amid Process.
func (s *script) inProcess() {
	key := s.choose.IntN(s.keys)
	s.object++
	switch s.choose.IntN(4) {
	case 0:
		if s.queue.Add(key, s.object) == nil {
			s.model.add(key, s.object)
		}
	case 1:
		s.delete(key)
	case 2:
		s.replace()
	}
	s.queue.verified(s.t)
}

func (s *script) processed(item Item[int, int], fails bool, err error) {
	m := &s.model
	var failed *ProcessError[int]
	if errors.As(err, &failed) != fails || errors.Is(err, errFails) {
		s.t.Fatalf("got error %v; fails: %t", err, fails)
	}
	if !fails {
		return
	}
	dropped := m.closed || m.find(item.Key) >= 0
	if *failed != (ProcessError[int]{Key: item.Key, Err: errFails, Dropped: dropped}) {
		s.t.Fatalf("got %+v; dropped: %t", failed, dropped)
	}
	if !dropped {
		m.items = append(m.items, modelItem{Item: item})
	}
}

func (s *script) compare() {
	s.queue.verified(s.t)
	m := &s.model
	if got := s.queue.Len(); got != len(m.items) {
		s.t.Fatalf("%d items, want %v", got, m.items)
	}
	key := s.choose.IntN(s.keys)
	obj, ok := s.queue.Get(key)
	if i := m.find(key); ok != (i >= 0) || ok && obj != m.items[i].Object {
		s.t.Fatalf("key %d: got %d, %t; want %v", key, obj, ok, m.items)
	}
	select {
	case <-s.queue.Synced():
		if !m.synced {
			s.t.Fatal("synced too early")
		}
	default:
		if m.synced {
			s.t.Fatal("not synced")
		}
	}
}

func TestFIFOAgainstModel(t *testing.T) {
	runs, steps := longtest.N(150, 2000), 500
	if testing.Short() {
		runs = 100
	}
	for seed := range runs {
		s := newScript(t, rand.New(rand.NewPCG(uint64(seed), 1)))
		for range steps {
			s.step()
		}
	}
}

func FuzzFIFOAgainstModel(f *testing.F) {
	rnd := rand.NewChaCha8([32]byte{})
	for _, n := range []int{0, 8, 128, 1024} {
		seed := make([]byte, n)
		_, _ = rnd.Read(seed)
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, ops []byte) {
		choose := &bytesChooser{left: ops}
		s := newScript(t, choose)
		for len(choose.left) > 0 {
			s.step()
		}
	})
}

// A key that is added again while it waits keeps its place; one that was taken has none.
func TestNoLineJumpers(t *testing.T) {
	f := New[string, int]()
	must(t, f.Add("a", 1), f.Add("b", 2), f.Add("a", 3), f.Add("c", 4))
	var got []Item[string, int]
	for range 4 {
		item, err := f.Pop(never)
		must(t, err)
		if got = append(got, item); len(got) == 1 {
			must(t, f.Add("a", 5))
		}
	}
	want := []Item[string, int]{{Key: "a", Object: 3}, {Key: "b", Object: 2}, {Key: "c", Object: 4}, {Key: "a", Object: 5}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReplaceOrder(t *testing.T) {
	f := New[string, int]()
	must(t, f.Add("b", 1), f.Replace([]Item[string, int]{{Key: "c", Object: 2}, {Key: "b", Object: 3}, {Key: "c", Object: 4}}))
	for _, want := range []Item[string, int]{{"c", 4, true}, {"b", 3, true}} {
		if got, err := f.Pop(never); err != nil || got != want {
			t.Errorf("got %v, error %v, want %v", got, err, want)
		}
	}
}

// What consumers wait for, whichever method of consuming they use.
func TestFIFOWaits(t *testing.T) {
	for name, consume := range map[string]func(ctx context.Context, f *FIFO[int, int]) error{
		"Pop":     func(ctx context.Context, f *FIFO[int, int]) error { _, err := f.Pop(ctx); return err },
		"Process": func(ctx context.Context, f *FIFO[int, int]) error { return f.Process(ctx, ignore) },
	} {
		for way, put := range map[string]func(f *FIFO[int, int]) error{
			"Add":             func(f *FIFO[int, int]) error { return f.Add(1, 1) },
			"AddIfNotPresent": func(f *FIFO[int, int]) error { _, err := f.AddIfNotPresent(1, 1); return err },
			"Replace":         func(f *FIFO[int, int]) error { return f.Replace([]Item[int, int]{{Key: 1}}) },
		} {
			t.Run(name+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := New[int, int]()
					ctx, cancel := context.WithCancel(t.Context())
					gone := waittest.Start(func() error { return consume(ctx, f) })
					gone.Waits(t)
					cancel()
					gone.Want(t, context.Canceled)
					first := waittest.Start(func() error { return consume(t.Context(), f) })
					first.Waits(t)
					must(t, put(f))
					first.Want(t, nil)
					second := waittest.Start(func() error { return consume(t.Context(), f) })
					must(t, f.Replace(nil))
					second.Waits(t)
					f.Close()
					second.Want(t, ErrClosed)
					wantErr(t, put(f), ErrClosed)
				})
			})
		}
	}
}

func ignore(Item[int, int]) error { return nil }

// One that takes an item wakes the next one, and Close everybody.
func TestFIFOWakesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New[int, int]()
		var pops []waittest.Call
		for range 10 {
			pops = append(pops, waittest.Start(func() error { _, err := f.Pop(t.Context()); return err }))
		}
		must(t, f.Replace([]Item[int, int]{{Key: 1}, {Key: 2}, {Key: 3}}))
		synctest.Wait()
		if f.Len() != 0 {
			t.Fatalf("%d items are left though consumers wait", f.Len())
		}
		f.Close()
		synctest.Wait()
		closed := 0
		for _, pop := range pops {
			if errors.Is(<-pop, ErrClosed) {
				closed++
			}
		}
		if closed != 7 {
			t.Errorf("%d consumers were told of the end, want 7", closed)
		}
	})
}

// What one consumer puts back wakes another.
func TestPutBackWakes(t *testing.T) {
	for name, process := range map[string]func(Item[int, int]) error{
		"error": func(Item[int, int]) error { return errFails },
		"panic": func(Item[int, int]) error { panic(errFails) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := New[int, int]()
				must(t, f.Add(1, 10))
				release := make(chan struct{})
				failing := waittest.Start(func() error {
					defer func() { _ = recover() }()
					_ = f.Process(t.Context(), func(item Item[int, int]) error { <-release; return process(item) })
					return nil
				})
				pop := waittest.Start(func() error { _, err := f.Pop(t.Context()); return err })
				pop.Waits(t)
				close(release)
				failing.Want(t, nil)
				pop.Want(t, nil)
			})
		})
	}
}

// Closing leaves what is in, for consumers and for Delete.
func TestFIFOAfterClose(t *testing.T) {
	f := New[int, int]()
	must(t, f.Add(1, 10), f.Add(2, 20), f.Add(3, 30))
	f.Close()
	f.Close()
	if obj, had := f.Delete(2); obj != 20 || !had {
		t.Errorf("deleted %d, %t", obj, had)
	}
	if item, err := f.Pop(never); err != nil || item.Object != 10 {
		t.Errorf("got %v, error %v", item, err)
	}
	err := f.Process(t.Context(), func(Item[int, int]) error { return errFails })
	var failed *ProcessError[int]
	if !errors.As(err, &failed) || !failed.Dropped || err.Error() != "processing key 3: fails" {
		t.Errorf("got error %v", err)
	}
	_, err = f.Pop(never)
	wantErr(t, err, ErrClosed)
}

// Every object that producers add last is seen, and each key's objects in order.
func TestFIFOConcurrently(t *testing.T) {
	const producers, keys, steps = 4, 20, 3000
	f := New[int, int]()
	var wg, done sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for i := range steps {
				if err := f.Add(p*keys+i%keys, i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	seen := make([]int, producers*keys)
	done.Go(func() {
		n := 0
		for {
			err := f.Process(t.Context(), func(item Item[int, int]) error {
				if n++; n%7 == 0 && item.Object < steps-keys { // the last ones must not be dropped
					return errFails
				}
				if item.Object < seen[item.Key] {
					t.Errorf("key %d: %d after %d", item.Key, item.Object, seen[item.Key])
				}
				seen[item.Key] = item.Object
				return nil
			})
			if errors.Is(err, ErrClosed) {
				return
			}
		}
	})
	wg.Wait()
	f.Close()
	done.Wait()
	for key, obj := range seen {
		if want := steps - keys + key%keys; obj != want {
			t.Errorf("key %d: last seen %d, want %d", key, obj, want)
		}
	}
}
