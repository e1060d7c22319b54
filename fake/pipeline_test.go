package fake_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// mapSink is the plainest sink. It tells a history checker what a handler would see.
type mapSink struct {
	have   map[types.NamespacedName]*pod
	listed map[types.NamespacedName]*pod
	seen   faketest.Histories[types.NamespacedName, *pod]
	bad    []error
}

func (s *mapSink) Listed(_ context.Context, ev reflector.Event[*pod]) error {
	k := key(ev.Object.Namespace, ev.Object.Name)
	if ev.Type == reflector.Deleted {
		delete(s.listed, k)
	} else {
		s.listed[k] = ev.Object
	}
	return nil
}

// Skipped is not expected: the server's objects are all sound.
func (s *mapSink) Skipped(bad *reflector.ObjectError) { s.bad = append(s.bad, bad) }

func (s *mapSink) Replace(context.Context, string) error {
	for k, old := range s.have {
		if s.listed[k] == nil {
			s.set(k, old, nil)
		}
	}
	for k, next := range s.listed {
		s.set(k, s.have[k], next)
	}
	s.Discard()
	return nil
}

func (s *mapSink) Discard() { clear(s.listed) }

func (s *mapSink) Apply(_ context.Context, ev reflector.Event[*pod]) error {
	if ev.Type == reflector.Bookmark {
		return nil
	}
	k, next := key(ev.Object.Namespace, ev.Object.Name), ev.Object
	if ev.Type == reflector.Deleted {
		next = nil
	}
	s.set(k, s.have[k], next)
	return nil
}

func (s *mapSink) set(k types.NamespacedName, old, next *pod) {
	switch {
	case old == nil && next == nil:
	case old == nil:
		s.seen.Added(k, next)
	case next == nil:
		s.seen.Deleted(k, old)
	default:
		s.seen.Updated(k, old, next)
	}
	if next == nil {
		delete(s.have, k)
	} else {
		s.have[k] = next
	}
}

// TestReflectorUnderFaults runs the production reflector, in process and with the real
// client over HTTP, on a server that fails in every way that it can. Once the server is
// quiet, the sink holds what the server holds.
func TestReflectorUnderFaults(t *testing.T) {
	for seed := range uint64(6) {
		for _, surface := range []string{"source", "client"} {
			t.Run(fmt.Sprint(surface, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { reflectUnderFaults(t, surface, seed) })
			})
		}
	}
}

func reflectUnderFaults(t *testing.T, surface string, seed uint64) {
	w := &world{model: newModel(), t: t, r: rand.New(rand.NewPCG(seed, 4)), s: newServer(t, fake.Options{})}
	var src reflector.Source[*pod] = must(fake.NewSource[*pod](w.s, fake.Selection{}))(t)
	if surface == "client" {
		src = must(client.New(client.Connection{URL: fake.URL, HTTP: w.s.Client()},
			kind.OfResource[*pod](schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Named("Pod"), client.Options{}))(t)
	}
	sink := &mapSink{have: map[types.NamespacedName]*pod{}, listed: map[types.NamespacedName]*pod{}}
	r := must(reflector.New[*pod](src, sink, reflector.Options{Tuning: reflector.Tuning{PageSize: 3}}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	for range 400 {
		w.step()
		if w.r.IntN(25) == 0 {
			check(t, w.s.Inject(randomFault(w.r)))
		}
		if w.r.IntN(30) == 0 {
			w.s.DropWatches()
		}
		time.Sleep(time.Duration(w.r.IntN(2000)) * time.Millisecond)
	}
	w.s.ClearFaults()
	w.s.DropWatches() // a silent watch would stay until its timeout
	time.Sleep(10 * time.Minute)
	synctest.Wait()
	cancel()
	<-done
	if err := sink.seen.Err(); err != nil {
		t.Error(err)
	}
	if d := must(faketest.Diff(w.s, fake.Selection{}, maps.Values(sink.have)))(t); d != "" {
		t.Errorf("server and sink differ after %d events:\n%s", sink.seen.Events(), d)
	}
	if len(sink.bad) > 0 {
		t.Errorf("objects skipped: %v", sink.bad)
	}
	if sink.seen.Events() < 10 {
		t.Errorf("only %d events", sink.seen.Events())
	}
}

func randomFault(r *rand.Rand) faults.Fault {
	switch r.IntN(8) {
	case 0:
		return faults.Fault{Status: faults.Refusal(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, 1+r.IntN(5)), Times: 2}
	case 1:
		return faults.Fault{Status: faults.Refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, 0), Times: 2}
	case 2:
		return faults.Fault{Verb: faults.VerbWatch, Status: faults.Refusal(http.StatusGone, metav1.StatusReasonExpired, 0)}
	case 3:
		return faults.Fault{Verb: faults.VerbList, Status: faults.Refusal(http.StatusGone, metav1.StatusReasonExpired, 0)}
	case 4:
		return faults.Fault{Verb: faults.VerbWatch, CutEvents: 1 + r.IntN(3)}
	case 5:
		return faults.Fault{Verb: faults.VerbList, CutEvents: 1 + r.IntN(3)}
	case 6:
		return faults.Fault{CutBytes: 1 + r.IntN(2000)}
	}
	return faults.Fault{Silent: true}
}
