package sim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/fake/faults"
)

// errCrashed is what the requests of a process get that has crashed.
var errCrashed = errors.New("sim: the process has crashed")

// op waits at the gate for its turn. It is a request that the server does not have yet, or a part of a watch's answer
// that the process does not have yet.
type op struct {
	life  *life
	at    point // without a number until the run has seen it
	query string
	body  []byte // of the request
	apply bool   // it is a server-side apply
	gone  <-chan struct{}
	turn  chan verdict
	sent  time.Time

	delivery bool           // it is a part of an answer
	until    time.Time      // not before that
	decided  bool           // the schedule's faults have been looked up
	faults   []faults.Fault // of the server, at most one
	code     int            // of its answer, zero if it got none
	message  string         // of a refusal
}

// changes reports whether o is for a change alone. Applies and deletes may find that there is nothing to do, a dry run
// leaves all as it was, and some creates are questions.
func (o *op) changes() bool {
	return (o.at.verb == faults.VerbUpdate || o.at.verb == faults.VerbPatch) && !o.apply && !strings.Contains(o.query, "dryRun=")
}

// verdict is what happens to an op that has its turn. The zero value lets it through.
type verdict struct {
	dead       bool // its process has crashed
	crashAfter bool
	late       time.Duration // until the process gets its answer
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

// pass waits for the turn of o. It reports false if o is not wanted any more.
func (g *gate) pass(o *op) (verdict, bool) {
	o.sent, o.turn = time.Now(), make(chan verdict, 1)
	g.mu.Lock()
	g.waiting = append(g.waiting, o)
	g.mu.Unlock()
	g.notify()
	select {
	case v := <-o.turn:
		return v, true
	case <-o.gone:
		g.remove(o)
		return verdict{}, false
	}
}

func (g *gate) remove(o *op) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.DeleteFunc(g.waiting, func(w *op) bool { return w == o })
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

// order returns zero for ops of two goroutines that nobody can tell apart.
func order(a, b *op) int {
	return cmp.Or(
		rank(a)-rank(b), a.sent.Compare(b.sent), a.life.process-b.life.process,
		cmp.Compare(a.at.resource, b.at.resource), cmp.Compare(a.at.key, b.at.key), cmp.Compare(a.at.verb, b.at.verb),
		bytes.Compare(a.body, b.body), cmp.Compare(a.query, b.query),
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
	v, ok := d.run.gate.pass(o)
	switch {
	case !ok:
		return nil, r.Context().Err()
	case v.dead:
		return nil, errCrashed
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
	if v.late > 0 {
		select {
		case <-time.After(v.late):
		case <-o.gone:
		}
	}
	if v.crashAfter {
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
	if strings.Contains(answer.Header.Get("Content-Type"), "protobuf") {
		var whole runtime.Unknown
		_ = whole.Unmarshal(bytes.TrimPrefix(body, []byte("k8s\x00")))
		_ = status.Unmarshal(whole.Raw)
	} else {
		_ = json.Unmarshal(body, &status)
	}
	return status.Message
}

func bodyOf(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	return body, errors.Join(err, r.Body.Close())
}
