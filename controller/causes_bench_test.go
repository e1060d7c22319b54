package controller

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/controller/internal/loops"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/note"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// madeThings is a source of objects that are decoded already.
type madeThings struct {
	all     []*metav1.PartialObjectMetadata
	version int
	send    chan []*metav1.PartialObjectMetadata // updates
}

func newMadeThings(n int) *madeThings {
	d := &madeThings{send: make(chan []*metav1.PartialObjectMetadata)}
	for i := range n {
		d.all = append(d.all, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: fmt.Sprint("thing-", i)}})
	}
	d.all = d.next()
	return d
}

// next returns newer states of all objects.
func (d *madeThings) next() []*metav1.PartialObjectMetadata {
	all := make([]*metav1.PartialObjectMetadata, len(d.all))
	for i, old := range d.all {
		d.version++
		all[i] = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: old.Namespace, Name: old.Name, ResourceVersion: strconv.Itoa(d.version)}}
	}
	return all
}

func (d *madeThings) Resource() string { return "things" }

func (d *madeThings) List(_ context.Context, _ metav1.ListOptions, yield func(reflector.Event[*metav1.PartialObjectMetadata], error) bool) (metav1.ListMeta, error) {
	for _, obj := range d.all {
		if !yield(reflector.Event[*metav1.PartialObjectMetadata]{Type: reflector.Added, ResourceVersion: obj.ResourceVersion, Object: obj}, nil) {
			return metav1.ListMeta{}, reflector.ErrListStopped
		}
	}
	return metav1.ListMeta{ResourceVersion: strconv.Itoa(len(d.all))}, nil
}

func (d *madeThings) Watch(ctx context.Context, _ metav1.ListOptions) iter.Seq2[reflector.Event[*metav1.PartialObjectMetadata], error] {
	return func(yield func(reflector.Event[*metav1.PartialObjectMetadata], error) bool) {
		for {
			select {
			case <-ctx.Done():
				return
			case all := <-d.send:
				for i, obj := range all {
					ev := reflector.Event[*metav1.PartialObjectMetadata]{Type: reflector.Modified, Idle: i == len(all)-1, ResourceVersion: obj.ResourceVersion, Object: obj}
					if !yield(ev, nil) {
						return
					}
				}
			}
		}
	}
}

// BenchmarkCauses is which share of an event's way, from a source without decoding to the end of a reconcile that writes
// nothing, goes to causes and to the detector of loops: 3% at most. What they do is timed alone, on one goroutine. With
// -cpu 1 the other times add up, too. The times are those of the fastest rounds, which other programs disturbed least.
func BenchmarkCauses(b *testing.B) {
	const n = 50_000
	d := newMadeThings(n)
	inf, err := informer.New(d, store.ObjectKey, informer.Options[*metav1.PartialObjectMetadata]{Reflector: reflector.Tuning{DisableWatchList: true}})
	if err != nil {
		b.Fatal(err)
	}
	left, done := n, make(chan struct{})
	c := New("", func(context.Context, types.NamespacedName) error {
		if left--; left == 0 { // there is one worker
			done <- struct{}{}
		}
		return nil
	})
	For(c, inf)
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	<-done
	part := newCausesPart(c)
	whole, alone := time.Hour, time.Hour
	for b.Loop() {
		all := d.next()
		left = n
		began := time.Now()
		d.send <- all
		<-done
		whole = min(whole, time.Since(began))
		began = time.Now()
		for i := range n {
			part.event(i)
		}
		alone = min(alone, time.Since(began))
	}
	b.ReportMetric(0, "ns/op") // both together: says nothing
	b.ReportMetric(float64(whole.Nanoseconds())/n, "event-ns")
	b.ReportMetric(float64(alone.Nanoseconds())/n, "causes-ns")
	b.ReportMetric(100*float64(alone)/float64(whole), "share-%")
	stop()
	if err := <-ended; err != nil {
		b.Error(err)
	}
}

// causesPart is what causes and the detector of loops do for an event.
type causesPart struct {
	c      *Controller[types.NamespacedName]
	kept   *thingsKept
	events []informer.Event[types.NamespacedName, *metav1.PartialObjectMetadata]
	calls  []*callContext[types.NamespacedName]
	notes  note.Notes // of a worker
	ctx    context.Context
}

func newCausesPart(c *Controller[types.NamespacedName]) *causesPart {
	p := &causesPart{c: c, kept: &thingsKept{number: 1}, events: thingEvents(20)}
	p.ctx = note.With(context.Background(), &p.notes)
	for _, ev := range p.events { // the detector knows the keys
		call := &callContext[types.NamespacedName]{Context: p.ctx, from: keyOrigin[types.NamespacedName]{c, ev.Key}}
		_, d, hash := call.made()
		write := &loops.Call{Key: hash}
		write.Writes.Add(loops.Write{Object: hash, Made: 1})
		d.Ended(write)
		p.calls = append(p.calls, call)
	}
	return p
}

func (p *causesPart) event(i int) {
	i %= len(p.events)
	is := p.kept.add(&p.events[i], false)
	if byOthers(is) && p.c.loops.Listens() {
		panic("a key is suspect")
	}
	var added note.Notes // of an entry of the queue
	added.Add(is)
	p.notes = added
	call := p.calls[i]
	call.notes = note.Of(call.Context)
	judge(call, &call.notes, p.c.logger)
}
