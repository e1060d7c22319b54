package sim

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake/faults"
)

var (
	// errCrashed is what the requests of a process get that has crashed.
	errCrashed = errors.New("sim: the process has crashed")
	// errUnwanted says that nobody waits for an op any more.
	errUnwanted = errors.New("sim: the request has ended")
)

// op waits at the gate for its turn. It is a request that the server does not have yet, or a part of a watch's answer
// that the process does not have yet.
type op struct {
	life  *life
	at    point // without a number until the run has seen it
	query string
	body  []byte // of the request
	apply bool   // it is a server-side apply
	gone  <-chan struct{}
	turn  chan bool // true: its process has crashed
	sent  time.Time

	part       int            // of a delivery: the number of its watch
	delivery   bool           // it is a part of an answer
	until      time.Time      // not before that
	decided    bool           // the schedule's faults have been looked up
	late       time.Duration  // until the process gets its answer
	crashAfter bool           // the process ends when the server has carried it out
	faults     []faults.Fault // of the server, at most one
	code       int            // of its answer, zero if it got none
	message    string         // of a refusal
}

// changes reports whether o is for a change alone. Applies and deletes may find that there is nothing to do, a dry run
// leaves all as it was, and some creates are questions.
func (o *op) changes() bool {
	return (o.at.verb == faults.VerbUpdate || o.at.verb == faults.VerbPatch) && !o.apply && !strings.Contains(o.query, "dryRun=")
}

// gate holds what all processes send and get, so that one thing happens at a time.
type gate struct {
	mu      sync.Mutex
	waiting []*op
	arrived chan struct{} // has room for one: something has changed
}

func (g *gate) notify() {
	select {
	case g.arrived <- struct{}{}:
	default:
	}
}

// pass waits for the turn of o. It returns an error if the process has crashed, or if o is not wanted any more.
func (g *gate) pass(o *op) error {
	o.sent, o.turn = time.Now(), make(chan bool, 1)
	g.mu.Lock()
	g.waiting = append(g.waiting, o)
	g.mu.Unlock()
	g.notify()
	select {
	case dead := <-o.turn:
		if dead {
			return errCrashed
		}
		return nil
	case <-o.gone:
		g.remove(o)
		return errUnwanted
	}
}

// remove reports whether o still waited.
func (g *gate) remove(o *op) (waited bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, o)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	return i >= 0
}

// has reports whether o waits.
func (g *gate) has(o *op) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Contains(g.waiting, o)
}

// inOrder returns what waits, in an order that does not depend on goroutines: what processes get comes before what they
// ask for, and of that what they asked for first.
func (g *gate) inOrder() []*op {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := slices.Clone(g.waiting)
	slices.SortStableFunc(all, order)
	return all
}

// order returns zero for requests of two goroutines that nobody can tell apart.
func order(a, b *op) int {
	return cmp.Or(
		rank(a)-rank(b), a.sent.Compare(b.sent), a.life.process-b.life.process,
		cmp.Compare(a.at.resource, b.at.resource), cmp.Compare(a.at.key, b.at.key), cmp.Compare(a.at.verb, b.at.verb),
		bytes.Compare(a.body, b.body), cmp.Compare(a.query, b.query), cmp.Compare(a.part, b.part),
	)
}

func rank(o *op) int {
	if o.delivery {
		return 0
	}
	return 1
}

// road is the way of one life of a process to the server.
type road struct {
	run  *run
	life *life
}

// RoundTrip implements http.RoundTripper.
func (d road) RoundTrip(r *http.Request) (*http.Response, error) {
	if d.life.dead.Load() {
		return nil, errCrashed
	}
	if _, ok := parseAddress(r.URL.Path); !ok {
		// It has no turn, and no fault strikes it. Clients hold locks while they discover, and a bubble does not stand
		// still while a goroutine waits for a lock.
		return d.run.transport.RoundTrip(r)
	}
	body, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	o := &op{life: d.life, at: point{call: d.run.aliased(callOf(r, body))}, query: r.URL.RawQuery, body: body, gone: r.Context().Done()}
	o.apply = strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch")
	if err := d.run.gate.pass(o); err != nil {
		return nil, cmp.Or(r.Context().Err(), err)
	}
	sent := r.Clone(r.Context())
	sent.Body = io.NopCloser(bytes.NewReader(body))
	d.life.age(sent, o.at.call)
	answer, err := d.run.transport.RoundTrip(sent)
	if err == nil {
		o.code = answer.StatusCode
		if o.code >= http.StatusBadRequest {
			o.message = messageOf(answer)
		}
	}
	if o.late > 0 {
		select {
		case <-time.After(o.late):
		case <-o.gone:
		}
	}
	if o.crashAfter {
		d.life.crash()
		if err == nil {
			_ = answer.Body.Close()
		}
		return nil, errCrashed
	}
	if err == nil && o.at.verb == faults.VerbWatch && o.code == http.StatusOK {
		answer.Body = newStream(d, o, answer)
	}
	return answer, err
}

// messageOf returns the message of a refusal, and leaves the answer as it was.
func messageOf(answer *http.Response) string {
	body, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	answer.Body = io.NopCloser(bytes.NewReader(body))
	var status metav1.Status
	_ = decode(body, answer.Header.Get("Content-Type"), &status)
	return status.Message
}

func bodyOf(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	return body, errors.Join(err, r.Body.Close())
}
