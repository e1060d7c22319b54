package deltafifo

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// model is a queue that is too simple to be wrong: it writes down every delta in one
// list and searches it for everything.
type model struct {
	limit      int
	store      *shelf[int] // nil if the queue knows none
	pending    []put
	processing []put
	given      map[int]bool // keys that were given back from processing
	retrying   int          // deltas in processing that were given back before
	ending     bool         // processing has the last of the initial list
	synced     bool
	rv         string
	moved      bool
	ends       bool
	lists      int
	closed     bool
	inFlight   bool // there is a batch in processing, if only a resourceVersion
}

// put is one delta of the model.
type put struct {
	key   int
	time  int // when the delta came; those whose order is left open have the same
	delta Delta[int]
	again bool // given back
}

func of(puts []put, key int) (found []put) {
	for _, p := range puts {
		if p.key == key {
			found = append(found, p)
		}
	}
	return found
}

func lastOf(puts []put, key int) *put {
	for i := range slices.Backward(puts) {
		if puts[i].key == key {
			return &puts[i]
		}
	}
	return nil
}

// newest returns the newest state of key and whether it exists.
func (m *model) newest(key int) (obj int, ok bool) {
	for _, puts := range [][]put{m.pending, m.processing} {
		if p := lastOf(puts, key); p != nil {
			return p.delta.Object, p.delta.Type != Deleted
		}
	}
	if m.store != nil {
		return m.store.Get(key)
	}
	return 0, false
}

// full returns the error of a producer that does not want to wait.
func (m *model) full() error {
	switch {
	case m.closed:
		return ErrClosed
	case len(m.pending)+m.retrying >= m.limit:
		return context.Canceled
	}
	return nil
}

func (m *model) moveTo(rv string) {
	if rv != "" {
		m.rv, m.moved = rv, true
	}
}

func (m *model) put(key, time int, d Delta[int], rv string) {
	d.ResourceVersion = rv
	m.pending = append(m.pending, put{key: key, time: time, delta: d})
	m.moveTo(rv)
}

func (m *model) delete(key, time, obj int, rv string) {
	m.moveTo(rv)
	last := lastOf(m.pending, key)
	if last != nil && last.delta.FinalStateUnknown {
		last.delta = Delta[int]{Type: Deleted, Object: obj, ResourceVersion: rv}
	} else if _, ok := m.newest(key); ok {
		m.put(key, time, Delta[int]{Type: Deleted, Object: obj}, rv)
	}
}

// spared returns the keys of the items that the consumer need not be told of.
func (m *model) spared(items []keyedObject[int, int], list Replacement[int, int]) map[int]bool {
	if m.store == nil || !compares(list.ResourceVersion) || m.inFlight || len(m.pending) > 0 {
		return nil
	}
	newest, same := map[int]int{}, map[int]bool{}
	for _, item := range items {
		newest[item.Key] = item.Object
	}
	for key, obj := range newest {
		if known, ok := m.store.Get(key); ok && known == obj {
			same[key] = true
		}
	}
	if len(newest)-len(same) > len(newest)/8 {
		return nil
	}
	return same
}

func (m *model) replace(keys, time int, items []keyedObject[int, int], list Replacement[int, int]) {
	spared := m.spared(items, list)
	m.lists++
	listed := map[int]bool{}
	for i, item := range items {
		if spared[item.Key] {
			listed[item.Key] = true
			continue
		}
		d := Delta[int]{Type: Replaced, Initial: m.lists == 1, Object: item.Object, ResourceVersion: strconv.Itoa(item.Object)}
		if listed[item.Key] {
			lastOf(m.pending, item.Key).delta = d
		} else {
			m.pending = append(m.pending, put{key: item.Key, time: time + i, delta: d})
		}
		listed[item.Key] = true
	}
	for key := range keys {
		obj, ok := m.newest(key)
		if ok && !listed[key] && (list.Keep == nil || !list.Keep(key, obj)) {
			d := Delta[int]{Type: Deleted, FinalStateUnknown: true, Object: obj}
			m.put(key, time+len(items), d, "")
		}
	}
	if m.lists == 1 {
		m.moved, m.ends = true, true
	}
	m.moveTo(list.ResourceVersion)
}

func (m *model) resync(keys, time int) {
	for key := range keys {
		if m.store == nil || lastOf(m.pending, key) != nil || lastOf(m.processing, key) != nil {
			continue
		}
		if obj, ok := m.store.Get(key); ok {
			m.put(key, time, Delta[int]{Type: Sync, Object: obj}, "")
		}
	}
}

// requeue gives back key and reports whether it was there.
func (m *model) requeue(key, time int) bool {
	back := of(m.processing, key)
	if len(back) == 0 || m.given[key] {
		return false
	}
	m.given[key] = true
	newer := of(m.pending, key)
	if len(newer) > 0 {
		time = newer[0].time
	}
	m.pending = slices.DeleteFunc(m.pending, func(p put) bool { return p.key == key })
	for _, p := range back {
		m.pending = append(m.pending, put{key: key, time: time, delta: p.delta, again: true})
	}
	m.pending = append(m.pending, newer...)
	return true
}

// processed ends the batch in flight.
func (m *model) processed() {
	m.synced = m.synced || m.ending
	m.processing, m.retrying, m.ending, m.inFlight = nil, 0, false, false
}

// take makes what is pending the batch in flight and returns it.
func (m *model) take() (batch model) {
	m.processed()
	if len(m.pending) == 0 && !m.moved {
		return model{}
	}
	batch = *m
	m.processing, m.given, m.ending, m.inFlight = m.pending, map[int]bool{}, m.ends, true
	for _, p := range m.processing {
		if p.again {
			m.retrying++
		}
	}
	m.pending, m.rv, m.moved, m.ends = nil, "", false, false
	return batch
}

// chooser is where a script of operations comes from.
type chooser interface {
	// IntN returns a number in [0, n).
	IntN(n int) int
}

// script runs operations on a queue and its model and compares them after each.
type script struct {
	t       *testing.T
	choose  chooser
	keys    int
	queue   *DeltaFIFO[int, int]
	model   *model
	store   *shelf[int]
	objects int // objects made
	time    int
	quiet   int // pending deltas are read after about one of so many steps: a read sorts them by key

	// The batch in flight, as it should be, and how much of it is in the store.
	batch     Batch[int, int]
	want      model
	committed int
}

func newScript(t *testing.T, choose chooser) *script {
	keys := []int{8, 8, 8, 150}[choose.IntN(4)]
	s := &script{t: t, choose: choose, store: newShelf[int](), keys: 1 + choose.IntN(keys)}
	limit := []int{1, 2, 5, 20, 1000}[choose.IntN(5)]
	s.model = &model{limit: limit}
	var known KnownObjects[int, int]
	if choose.IntN(4) > 0 {
		known, s.model.store = s.store, s.store
	}
	s.queue = New(known, Options{Limit: limit})
	s.quiet = []int{1, 4, 100}[choose.IntN(3)]
	return s
}

func (s *script) key() int { return s.choose.IntN(s.keys) }

func (s *script) object() int {
	s.objects++
	return s.objects
}

func (s *script) version() string {
	if s.choose.IntN(4) == 0 {
		return ""
	}
	return strconv.Itoa(s.time)
}

func (s *script) step() {
	s.time += 1000 // room for the items of a list
	switch op := s.choose.IntN(40); {
	case op < 6:
		s.add()
	case op < 12:
		s.update()
	case op < 18:
		s.delete()
	case op < 20:
		s.bookmark()
	case op < 24:
		s.replace()
	case op < 27:
		s.pop()
	case op < 31:
		s.commit()
	case op < 34:
		s.requeue()
	case op < 36:
		s.resync()
	case op < 38:
		s.process()
	case op < 39:
		for range s.choose.IntN(3 * blockLen) {
			s.time += 10
			[]func(){s.add, s.update, s.update, s.update}[s.choose.IntN(4)]()
		}
	default:
		if s.choose.IntN(16) == 0 {
			s.queue.Close()
			s.model.closed = true
		}
	}
	s.queue.check(s.t)
	if got, want := s.queue.Len(), len(s.model.pending); got != want {
		s.t.Fatalf("%d deltas pending, want %d", got, want)
	}
	s.compare()
}

// returned compares the error of a producing method and reports whether there is none.
func (s *script) returned(err error) bool {
	s.t.Helper()
	if want := s.model.full(); !errors.Is(err, want) || want == nil && err != nil {
		s.t.Fatalf("got error %v, want %v", err, want)
	}
	return err == nil
}

func (s *script) add() {
	key, obj, rv := s.key(), s.object(), s.version()
	if s.returned(s.queue.Add(never, key, obj, rv)) {
		s.model.put(key, s.time, Delta[int]{Type: Added, Object: obj}, rv)
	}
}

func (s *script) update() {
	key, obj, rv := s.key(), s.object(), s.version()
	if s.returned(s.queue.Update(never, key, obj, rv)) {
		s.model.put(key, s.time, Delta[int]{Type: Updated, Object: obj}, rv)
	}
}

func (s *script) delete() {
	key, obj, rv := s.key(), s.object(), s.version()
	if s.returned(s.queue.Delete(never, key, obj, rv)) {
		s.model.delete(key, s.time, obj, rv)
	}
}

func (s *script) bookmark() {
	rv := s.version()
	if s.returned(s.queue.Bookmark(never, rv)) {
		s.model.moveTo(rv)
	}
}

// items returns the items of a list: any, or what the store has, save for some.
func (s *script) items() (items []keyedObject[int, int]) {
	if s.choose.IntN(2) == 0 {
		for range s.choose.IntN(s.keys + 2) { // none now and then, and some more than once
			items = append(items, keyedObject[int, int]{Key: s.key(), Object: s.object()})
		}
		return items
	}
	for key := range s.keys {
		obj, ok := s.store.Get(key)
		switch s.choose.IntN(24) {
		case 0:
			continue
		case 1:
			obj, ok = s.object(), true
		case 2:
			items = append(items, keyedObject[int, int]{Key: s.key(), Object: s.object()})
		}
		if ok {
			items = append(items, keyedObject[int, int]{Key: key, Object: obj})
		}
	}
	return items
}

func (s *script) replace() {
	list := Replacement[int, int]{ResourceVersion: s.version()}
	items := s.items()
	list.Objects = &Objects[int, int]{}
	for _, item := range items {
		list.Objects.Set(item.Key, item.Object, strconv.Itoa(item.Object))
	}
	if len(items) == 0 && s.choose.IntN(2) == 0 {
		list.Objects = nil
	}
	if kept := s.choose.IntN(256); kept%2 == 0 {
		list.Keep = func(key, _ int) bool { return kept>>(key%8)&1 != 0 }
	}
	if s.returned(s.queue.Replace(never, list)) {
		s.model.replace(s.keys, s.time, items, list)
	}
}

func (s *script) resync() {
	if s.returned(s.queue.Resync(never)) {
		s.model.resync(s.keys, s.time)
	}
}

// requeue gives back any key, one that has been committed included.
func (s *script) requeue() {
	key := s.key()
	err := s.queue.Requeue(key)
	if ok := s.model.requeue(key, s.time); ok != (err == nil) || !ok && !errors.Is(err, errNotInFlight) {
		s.t.Fatalf("given back: %t, got error %v", ok, err)
	}
}

// pop commits what is left of the last batch and takes the next one.
func (s *script) pop() {
	for s.committed < len(s.want.pending) {
		s.commit()
	}
	s.want, s.committed = s.model.take(), 0
	some := len(s.want.pending) > 0 || s.want.moved
	if s.choose.IntN(2) == 0 {
		var ok bool
		if s.batch, ok = s.queue.TryPop(); ok != some {
			s.t.Fatalf("TryPop returned %t with %v pending", ok, s.want.pending)
		}
		return
	}
	var err error
	if s.batch, err = s.queue.Pop(never); err != nil || !some {
		s.ended(err)
	}
}

// ended checks that the queue returned err because it is empty.
func (s *script) ended(err error) {
	s.t.Helper()
	want := context.Canceled
	if s.model.closed {
		want = ErrClosed
	}
	if !errors.Is(err, want) || len(s.want.pending) > 0 || s.want.moved {
		s.t.Fatalf("got error %v with %v pending", err, s.want.pending)
	}
}

// process takes a batch by Process, which fails for some keys and may be stopped early.
func (s *script) process() {
	m := s.model
	if len(m.pending) == 0 && !m.moved && !m.closed { // would wait
		if err := s.queue.Process(never, nil); !errors.Is(err, context.Canceled) {
			s.t.Fatalf("got error %v", err)
		}
		return
	}
	for s.committed < len(s.want.pending) {
		s.commit()
	}
	s.batch, s.want, s.committed = Batch[int, int]{}, model{}, 0
	want := m.take()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p := &processing{s: s, want: want, fails: s.choose.IntN(256), stop: s.choose.IntN(12), cancel: cancel}
	err := s.queue.Process(ctx, p.key)
	if len(want.pending) == 0 && !want.moved {
		s.ended(err)
		return
	}
	p.returned()
	p.leave(err)
}

// processing is the state of a script within a batch in Process.
type processing struct {
	s      *script
	want   model
	fails  int // bits of keys
	stop   int // number of the key that is the last one, from one
	cancel func()

	called []int
	time   int // of the last key
	failed []Failure[int]
}

// key is the function that is given to Process. What it does to the queue must not
// disturb the batch.
func (p *processing) key(key int, deltas []Delta[int]) error {
	p.returned()
	s, puts := p.s, of(p.want.pending, key)
	if slices.Contains(p.called, key) || len(puts) != len(deltas) || puts[0].time < p.time {
		s.t.Fatalf("key %d with %v, after %v; want %v", key, deltas, p.called, puts)
	}
	p.called, p.time = append(p.called, key), puts[0].time
	for range s.choose.IntN(3) {
		s.time += 1000
		[]func(){s.add, s.update, s.delete, s.replace, s.resync, s.requeue}[s.choose.IntN(6)]()
		s.queue.check(s.t)
	}
	for i, put := range puts {
		if put.delta != deltas[i] {
			s.t.Fatalf("key %d: got %v, want %v", key, deltas, puts)
		}
	}
	if len(p.called) == p.stop {
		p.cancel()
	}
	if p.fails>>(key%8)&1 == 0 {
		s.store.commit(key, deltas)
		return nil
	}
	p.failed = append(p.failed, Failure[int]{Key: key, Err: errFails, Dropped: s.model.closed})
	return errFails
}

var errFails = errors.New("fails")

// returned notes that the function has returned for the last key.
func (p *processing) returned() {
	if n := len(p.failed); n > 0 && p.failed[n-1].Key == p.called[len(p.called)-1] && !p.s.model.closed {
		p.s.model.requeue(p.failed[n-1].Key, p.s.time+999) // after what the function did
	}
}

// leave brings the model to where Process has left the queue with err.
func (p *processing) leave(err error) {
	m, t := p.s.model, p.s.t
	stopped := p.stop > 0 && p.stop <= len(p.called)
	left := false
	for _, put := range p.want.pending {
		if !slices.Contains(p.called, put.key) {
			m.requeue(put.key, p.s.time+999)
			left = true
		}
	}
	if left && m.ending {
		m.ending, m.ends = false, true
	}
	m.processed()
	var failed *ProcessError[int]
	if errors.As(err, &failed) != (len(p.failed) > 0) || failed != nil && !slices.Equal(failed.Failed, p.failed) {
		t.Fatalf("got error %v, want failures %v", err, p.failed)
	}
	if left && !stopped || errors.Is(err, context.Canceled) != left || errors.Is(err, errFails) {
		t.Fatalf("got error %v; keys are left: %t, stopped: %t", err, left, stopped)
	}
	if err != nil && failed == nil && !left {
		t.Fatalf("got error %v", err)
	}
}

// commit brings one more key of the batch into the store.
func (s *script) commit() {
	i := 0
	for key, deltas := range s.batch.All() {
		if i == s.committed {
			s.store.commit(key, deltas)
			s.committed++
			return
		}
		i++
	}
	s.committed = len(s.want.pending)
}

// compare compares the batch in flight. Later deltas must not change it.
func (s *script) compare() {
	s.t.Helper()
	want := &s.want
	if s.batch.Len() != len(want.pending) || s.batch.ResourceVersion() != want.rv ||
		s.batch.EndsInitialList() != want.ends {
		s.t.Fatalf("got a batch of %d at %q, last of initial: %t; want %d at %q, %t",
			s.batch.Len(), s.batch.ResourceVersion(), s.batch.EndsInitialList(),
			len(want.pending), want.rv, want.ends)
	}
	select {
	case <-s.queue.Synced():
		if !s.model.synced {
			s.t.Fatal("synced too early")
		}
	default:
		if s.model.synced {
			s.t.Fatal("not synced")
		}
	}
	if s.choose.IntN(s.quiet) == 0 {
		s.comparePending()
	}
	total, time := 0, 0
	for key, got := range s.batch.All() {
		puts := of(want.pending, key)
		if !slices.EqualFunc(got, puts, func(d Delta[int], p put) bool { return d == p.delta }) {
			s.t.Fatalf("key %d: got %v, want %v", key, got, puts)
		}
		first := puts[0].time
		if first < time {
			s.t.Fatalf("key %d came at %d, after one that came at %d", key, first, time)
		}
		total, time = total+len(got), first
	}
	if total != len(want.pending) {
		s.t.Fatalf("got %d deltas, want %d", total, len(want.pending))
	}
}

func TestAgainstModel(t *testing.T) {
	runs, steps := 600, 400
	if testing.Short() {
		runs = 50
	}
	for seed := range runs {
		s := newScript(t, rand.New(rand.NewPCG(uint64(seed), 1)))
		for range steps {
			s.step()
		}
	}
}

// bytesChooser takes its choices from a fuzzer's input.
type bytesChooser struct{ left []byte }

func (b *bytesChooser) IntN(n int) int {
	if len(b.left) == 0 {
		return 0
	}
	c := int(b.left[0])
	b.left = b.left[1:]
	return c % n
}

func FuzzAgainstModel(f *testing.F) {
	rnd := rand.NewChaCha8([32]byte{})
	for _, n := range []int{0, 4, 64, 512} {
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
		s.pop()
		s.compare()
	})
}
