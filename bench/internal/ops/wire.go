package ops

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// wirePods is the largest number of pods in a sync from the wire: a tenth of the others, since
// decoding takes long.
const wirePods = 10_000

// wires are the syncs from the bytes of an API server, over HTTP on the loopback interface, to
// a handler that has seen everything. The server is another process and sends prepared bytes.
func wires(w *World) []measure.Op {
	n := some(min(w.Pods, wirePods), "pod", "pods")
	var all []measure.Op
	for _, c := range []struct {
		name, title  string
		accept       string // of both sides; empty for the defaults
		streams      bool
		goal, allocs float64
	}{
		{"defaults", "defaults of both", "", true, 2, 0},
		{"json-list", "JSON by LIST", "application/json", false, 2.8, 0},
		{"json-watchlist", "JSON by WatchList", "application/json", true, 6, 0},
		{"protobuf-list", "protobuf by LIST", protobufType, false, 2, 0.6},
		{"protobuf-watchlist", "protobuf by WatchList", protobufType, true, 2, 0.6},
	} {
		lines := []measure.Line{
			{Title: "sync of " + n + " over HTTP, " + c.title, Unit: measure.Nanoseconds, Goal: c.goal},
			{Title: "peak of the heap in it, " + c.title, Unit: "B/peak", Goal: 1 / 0.75},
		}
		if c.allocs > 0 {
			lines = append(lines, measure.Line{Title: "allocations in it, " + c.title, Unit: measure.Allocs, Goal: 1 / c.allocs})
		}
		all = append(all, measure.Op{
			Name: "wire/" + c.name, Whole: true, Rounds: 6, Lines: lines,
			Setup: func() (measure.Sides, error) {
				return w.wire(startWire[*corev1.Pod](nil), startWireClientGo, c.accept, c.streams)
			},
		})
	}
	return append(append(all, fatWires(w)...), residents(w)...)
}

// fatWires are syncs of few pods with many containers.
func fatWires(w *World) (all []measure.Op) {
	few := max(min(w.Pods, wirePods)/10, 1)
	for _, c := range []struct {
		name, title, accept string
		goal                float64
	}{{"fat-json", "JSON by WatchList", "application/json", 3}, {"fat-protobuf", "protobuf by WatchList", protobufType, 1.2}} {
		all = append(all, measure.Op{
			Name: "wire/" + c.name, Whole: true, Rounds: 6,
			Lines: line("sync of "+some(few, "pod", "pods")+" of 31 KB over HTTP, "+c.title, measure.Nanoseconds, c.goal),
			Setup: func() (measure.Sides, error) {
				return wireSyncs(Contents{Kind: "fat pods", Objects: few, Streams: true}, startWire[*corev1.Pod](nil), startWireClientGo, c.accept)
			},
		})
	}
	return all
}

// residents measure the objects that stay in memory after a sync. Both sides keep the same fields:
// client-go's informers have the transform that drops or projects what kinform's do not decode. Its small struct also
// needs an ObjectMeta.
func residents(w *World) (all []measure.Op) {
	lean := startWire[*corev1.Pod](func(o *client.Options) { o.DropManagedFields = true })
	metadataOnly := startWire[*metav1.PartialObjectMetadata](func(o *client.Options) { o.DropManagedFields = true })
	for _, c := range []struct {
		name, title string
		goal        float64
		limits      []measure.Limit
		start, peer wireStarter
	}{
		{"default", "defaults of both", 1.5, nil, startWire[*corev1.Pod](nil), startWireClientGo},
		{"lean", "both without managedFields", 1.5, nil, lean, startStrippedClientGo},
		{"metadata", "both metadata only, without managedFields", 1, nil, metadataOnly, startMetadataClientGo},
		{"projected", "both projected to a small struct", 0, []measure.Limit{atMost(300, "B/object")}, startProjected, startProjectedClientGo},
	} {
		all = append(all, measure.Op{
			Name: "resident/" + c.name, Exact: true,
			Lines: line("bytes kept per pod after a sync, "+c.title, "B/object", c.goal, c.limits...),
			Setup: func() (measure.Sides, error) { return resident(min(w.Pods, wirePods), c.start, c.peer) },
		})
	}
	return all
}

const protobufType = "application/vnd.kubernetes.protobuf"

// wireStarter starts an informer on a server and returns when its handler has seen n pods.
// stop ends all that it started.
type wireStarter func(s *server, accept string, n int) (stop func(), err error)

func (w *World) wire(kinform, clientGo wireStarter, accept string, streams bool) (measure.Sides, error) {
	return wireSyncs(Contents{Kind: "pods", Objects: min(w.Pods, wirePods), Streams: streams}, kinform, clientGo, accept)
}

// wireSyncs measures syncs from a server.
func wireSyncs(has Contents, kinform, clientGo wireStarter, accept string) (measure.Sides, error) {
	server, err := startServer(has)
	if err != nil {
		return measure.Sides{}, err
	}
	sync := func(start wireStarter) measure.Side {
		return measure.Side{Run: func(m measure.Meter, n int) error {
			var peaks measure.Series
			for range n {
				m.StopTimer()
				base := live()
				peak := watchHeap()
				m.StartTimer()
				stop, err := start(server, accept, server.objects)
				m.StopTimer()
				peaks.Add(max(peak()-base, 1), "B/peak")
				if err != nil {
					return err
				}
				stop()
				m.StartTimer()
			}
			peaks.Report(m)
			return nil
		}}
	}
	sides := measure.Sides{Kinform: sync(kinform), ClientGo: sync(clientGo)}
	sides.Kinform.Close = server.Close
	return sides, nil
}

// watchHeap samples the heap repeatedly. stop ends that and returns the maximum.
func watchHeap() (stop func() float64) {
	var most uint64
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return func() float64 {
		close(done)
		<-ended
		return float64(most)
	}
}

// resident measures the memory that remains after a sync of n pods.
func resident(n int, kinform, clientGo wireStarter) (measure.Sides, error) {
	server, err := startServer(Contents{Kind: "pods", Objects: n, Streams: true})
	if err != nil {
		return measure.Sides{}, err
	}
	keep := func(start wireStarter) measure.Side {
		return measure.Side{Run: func(m measure.Meter, n int) error {
			var bytes, collections measure.Series
			for range n {
				before, idle := settled(), collection()
				stop, err := start(server, "", server.objects)
				if err != nil {
					return err
				}
				bytes.Add((settled()-before)/float64(server.objects), "B/object")
				collections.Add(max(collection()-idle, 1)/float64(server.objects), "gc-ns/object")
				stop()
			}
			bytes.Report(m)
			collections.Report(m)
			return nil
		}}
	}
	sides := measure.Sides{Kinform: keep(kinform), ClientGo: keep(clientGo)}
	sides.Kinform.Close = server.Close
	return sides, nil
}

// collection returns the processor time of a collection, in nanoseconds: the mean of some.
func collection() float64 {
	const some = 5
	began := processTime()
	for range some {
		runtime.GC()
	}
	return float64(processTime()-began) / some
}

// startWire starts kinform's informer of pods decoded into T, without options but for the
// encoding.
func startWire[T metav1.Object](change func(*client.Options)) wireStarter {
	return func(s *server, accept string, n int) (func(), error) {
		var opts client.Options
		if change != nil {
			change(&opts)
		}
		h := acceptOnly(newTransport(), accept)
		source, err := client.New(client.Connection{URL: s.URL, HTTP: h}, kind.Of[T](corev1.SchemeGroupVersion, "pods").Named("Pod"), opts)
		if err != nil {
			return nil, err
		}
		return runWire(h, reflector.Source[T](source), store.ObjectKey[T], informer.Options[T]{}, n)
	}
}

// podSummary is the part of a pod that a program needs which balances pods over nodes.
type podSummary struct {
	types.NamespacedName
	node  string
	phase corev1.PodPhase
}

func startProjected(s *server, _ string, n int) (func(), error) {
	h := newTransport()
	source, err := client.New(client.Connection{URL: s.URL, HTTP: h}, core.Pods, client.Options{})
	if err != nil {
		return nil, err
	}
	small := reflector.Map(source, func(p *corev1.Pod) (podSummary, error) {
		return podSummary{types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, p.Spec.NodeName, p.Status.Phase}, nil
	})
	return runWire(h, small, func(p podSummary) (key, error) { return p.NamespacedName, nil }, informer.Options[podSummary]{}, n)
}

// runWire runs an informer until its handler has seen n objects.
func runWire[T any](h *http.Client, source reflector.Source[T], keyOf store.KeyFunc[key, T], opts informer.Options[T], n int) (func(), error) {
	var failed atomic.Pointer[error]
	seen := 0
	opts.OnError = func(err error) { failed.CompareAndSwap(nil, &err) }
	stop, err := runInformer(h, source, keyOf, opts, func(informer.Event[key, T]) { seen++ })
	if err == nil && seen != n {
		stop()
		return nil, errors.Join(fmt.Errorf("the handler has seen %d pods of %d", seen, n), deref(failed.Load()))
	}
	return stop, err
}

// runInformer returns when the handler has got the list.
func runInformer[T any](h *http.Client, source reflector.Source[T], keyOf store.KeyFunc[key, T], opts informer.Options[T], handle informer.HandlerFunc[key, T]) (stop func(), err error) {
	inf, err := informer.New(source, keyOf, opts)
	if err != nil {
		return nil, err
	}
	reg, err := inf.AddHandler(handle, informer.HandlerOptions[T]{})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = inf.Run(ctx) })
	<-reg.Synced()
	return func() {
		cancel()
		wg.Wait()
		h.CloseIdleConnections()
	}, nil
}

func deref(err *error) error {
	if err == nil {
		return nil
	}
	return *err
}

func newTransport() *http.Client {
	return &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
}

// acceptOnly makes requests accept one encoding alone, unless it is empty.
func acceptOnly(h *http.Client, accept string) *http.Client {
	if accept != "" {
		h.Transport = accepting{h.Transport.(*http.Transport), accept}
	}
	return h
}

type accepting struct {
	*http.Transport
	accept string
}

func (a accepting) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Accept", a.accept)
	return a.Transport.RoundTrip(req)
}

// wantsProtobuf reports whether a request wants protobuf first.
func wantsProtobuf(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Accept"), protobufType)
}
