package ops

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/store"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// rhythm is the pattern in which events come: some at once, again and again.
type rhythm struct {
	name, title string
	every       time.Duration
	burst       int
}

var rhythms = []rhythm{
	{"200", "200/s", time.Second / 200, 1},
	{"1000", "1,000/s", time.Second / 1000, 1},
	{"10000", "10,000/s", time.Second / 10_000, 1},
	{"20x50", "20/s, 50 at once", time.Second / 20, 50},
	{"100x50", "100/s, 50 at once", time.Second / 100, 50},
}

// interval is the time between two events of the last evenly spaced rhythm.
const interval = 100 * time.Microsecond

// latencies are the times from the arrival of an event to the start of a handler: of decoded
// events, and over HTTP from the bytes of an API server in another process, whose processor time
// does not count.
func latencies(w *World) []measure.Op {
	var all []measure.Op
	for _, r := range rhythms {
		all = append(all, measure.Op{
			Name: "latency/decoded/" + r.name,
			Lines: []measure.Line{
				{Title: "event to handler at " + r.title + ", p50", Unit: "p50-ns", Goal: 1},
				{Title: "event to handler at " + r.title + ", p99", Unit: "p99-ns", Goal: 1},
			},
			Setup: func() (measure.Sides, error) {
				return bothSides(func(start starter) (measure.Side, error) {
					p, err := w.newPipeline(start, 1)
					return w.latency(p, r, err)
				})
			},
		})
	}
	for _, r := range []rhythm{rhythms[0], rhythms[1], rhythms[3]} {
		all = append(all, measure.Op{
			Name: "latency/unmarked/" + r.name,
			Lines: []measure.Line{
				{Title: "event of a source that never sets Idle to handler at " + r.title + ", p50", Unit: "p50-ns", Goal: 1},
				{Title: "event of a source that never sets Idle to handler at " + r.title + ", p99", Unit: "p99-ns", Goal: 1},
			},
			Setup: func() (measure.Sides, error) {
				return bothSides(func(start starter) (measure.Side, error) {
					p, err := w.newPipeline(unmarked(start), 1)
					return w.latency(p, r, err)
				})
			},
		})
	}
	for _, r := range rhythms {
		all = append(all, measure.Op{
			Name: "latency/http/" + r.name,
			Lines: []measure.Line{
				{Title: "event over HTTP to handler at " + r.title + ", p50", Unit: "p50-ns", Goal: 1 / 0.9},
				{Title: "event over HTTP to handler at " + r.title + ", p99", Unit: "p99-ns", Goal: 1 / 0.8},
				{Title: "processor time per event over HTTP at " + r.title, Unit: "cpu-ns", Goal: 1 / 0.75},
			},
			Setup: func() (measure.Sides, error) { return w.wireLatency(r) },
		})
	}
	return all
}

// unmarked starts with a feed that never sets Event.Idle, as a source by hand may not.
func unmarked(start starter) starter {
	return func(f *feed, indexes int, handlers ...handler) (*running, error) {
		f.unmarked = true
		return start(f, indexes, handlers...)
	}
}

// sender passes updates on to a handler that notes them.
type sender interface {
	// prepare returns a function that sends events for a time and returns the nanoseconds that
	// each took.
	prepare(r rhythm, span time.Duration) (func() ([]float64, error), error)
	stop()
}

// latency is the side of an operation. It returns err if that is not nil.
func (w *World) latency(p sender, r rhythm, err error) (measure.Side, error) {
	if err != nil {
		return measure.Side{}, err
	}
	return measure.Side{Close: p.stop, Run: func(m measure.Meter, n int) error {
		var tail measure.Series
		for range n {
			run, err := p.prepare(r, w.Span)
			if err != nil {
				return err
			}
			used := processTime()
			took, err := run()
			if err != nil {
				return err
			}
			tail.Add(float64(processTime()-used)/float64(len(took)), "cpu-ns")
			tail.Add(measure.Percentile(took, 0.5), "p50-ns")
			tail.Add(measure.Percentile(took, 0.99), "p99-ns")
		}
		tail.Report(m)
		return nil
	}}, nil
}

// events is the number of events in a time.
func (r rhythm) events(span time.Duration) int { return max(int(span/r.every), 1) * r.burst }

// prepare implements sender.
func (p *pipeline) prepare(r rhythm, span time.Duration) (func() ([]float64, error), error) {
	return func() ([]float64, error) { return p.latencies(r, span) }, nil
}

// latencies measures decoded events. An event counts from the moment when it is due. Those that
// came due while the source was not scheduled are sent at once, as they would arrive at a client.
func (p *pipeline) latencies(r rhythm, span time.Duration) ([]float64, error) {
	pace, err := newPacer(r.every)
	if err != nil {
		return nil, err
	}
	defer pace.close()
	some := p.updates.next(r.events(span))
	sent, took := make([]time.Time, len(some)), make([]float64, len(some))
	p.tallies[0].each = func(i int) { took[i] = float64(time.Since(sent[i])) }
	p.send(batch{pods: some, before: func(i int) (last bool) {
		if i%r.burst == 0 {
			if failed := pace.wait(); failed != nil {
				err = failed
			}
			sent[i] = time.Now()
		} else {
			sent[i] = sent[i-1]
		}
		return i%r.burst == r.burst-1 && pace.missed == 0
	}})
	p.tallies[0].each = nil
	if err != nil {
		return nil, fmt.Errorf("pacer: %w", err)
	}
	return took, nil
}

// wirePipeline is a server with an informer on it.
type wirePipeline struct {
	server *server
	media  string // of the events
	tally  *tally
	end    func()
}

func (w *World) wireLatency(r rhythm) (measure.Sides, error) {
	return bothOverHTTP(func(start handlerStarter) (measure.Side, error) {
		p, err := w.newWirePipeline(start, "")
		return w.latency(p, r, err)
	})
}

// handlerStarter starts an informer on a server and returns when its handler has got the list.
type handlerStarter func(s *server, accept string, handle handler) (stop func(), err error)

// bothOverHTTP makes each side with its own kind of informer.
func bothOverHTTP(side func(handlerStarter) (measure.Side, error)) (measure.Sides, error) {
	return sidesWith[handlerStarter](startHandler, startClientGoHandler, side)
}

func startHandler(s *server, accept string, handle handler) (func(), error) {
	h := acceptOnly(newTransport(), accept)
	source, err := client.New(client.Connection{URL: s.URL, HTTP: h}, core.Pods, client.Options{})
	if err != nil {
		return nil, err
	}
	// The rows of relists cut the watches themselves: nothing is logged about that.
	return runInformer(h, source, store.ObjectKey, informer.Options[*corev1.Pod]{OnError: func(error) {}}, handle.typed())
}

func startClientGoHandler(s *server, accept string, handle handler) (func(), error) {
	return runClientGo(s, accept, handle.untyped())
}

// newWirePipeline returns an informer that has got its list. accept is the encoding, empty for the
// defaults.
func (w *World) newWirePipeline(start handlerStarter, accept string) (*wirePipeline, error) {
	server, err := startServer(Contents{Kind: "pods", Objects: min(w.Pods, wirePods), Streams: true})
	if err != nil {
		return nil, err
	}
	p := &wirePipeline{server: server, media: cmp.Or(accept, protobufType), tally: &tally{done: make(chan struct{})}}
	if p.end, err = start(server, accept, p.tally.handle); err != nil {
		server.Close()
		return nil, err
	}
	return p, nil
}

// stop implements sender.
func (p *wirePipeline) stop() {
	p.end()
	p.server.Close()
}

// prepare implements sender.
func (p *wirePipeline) prepare(r rhythm, span time.Duration) (func() ([]float64, error), error) {
	n := r.events(span)
	_, err := p.server.encode(Events{MediaType: p.media, N: n, Burst: r.burst})
	return func() ([]float64, error) { return p.latencies(r, n) }, err
}

// latencies measures n events. An event counts from the moment before the server writes it.
func (p *wirePipeline) latencies(r rhythm, n int) ([]float64, error) {
	came, took := make([]int64, n), make([]float64, n)
	p.tally.left, p.tally.at = n, 0
	p.tally.each = func(i int) { came[i] = time.Now().UnixNano() }
	sent, err := p.server.send(r.every)
	if err != nil {
		return nil, err
	}
	<-p.tally.done
	for i := range took {
		took[i] = float64(came[i] - sent[i/r.burst])
	}
	return took, nil
}
