package sim

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kinform/kinform/fake/faults"
)

var (
	// errCrashed is what the requests of a process get that has crashed.
	errCrashed = errors.New("sim: the process has crashed")
	// errLost is what a process gets in place of an answer that was lost.
	errLost = fmt.Errorf("sim: the answer was lost: %w", io.ErrUnexpectedEOF)
	// errUnwanted says that nobody waits for an op any more.
	errUnwanted = errors.New("sim: the request has ended")
)

// op waits at the gate for its turn. It is a request that the server does not have yet, a part of a watch's answer that
// the process does not have yet, or the next step of users.
type op struct {
	life  *life
	at    point // with a generated name, and without a number, until the run has seen it
	query string
	body  []byte // of the request
	apply bool   // it is a server-side apply
	gone  <-chan struct{}
	turn  chan bool // true: its process has crashed
	sent  time.Time

	until    time.Time // not before that
	settles  bool      // it is of users, and not before the program rests
	delivery bool      // it is a part of an answer
	part     int       // of a delivery: the number of its watch

	touched    bool           // another client has just written the object
	late       time.Duration  // until the process gets its answer
	lost       bool           // the process never gets it
	crashAfter bool           // the process ends when the server has carried it out
	asOf       string         // the version of a list that is old
	faults     []faults.Fault // the server's refusal, if any
	code       int            // of its answer, zero if it got none
	message    string         // of a refusal
	stream     *stream        // the answer to a watch
}

// users reports whether o is the next step of users.
func (o *op) users() bool { return o.life.process == 0 }

// changes reports whether o is for a change alone. Applies and deletes may find that there is nothing to do, a dry run
// leaves all as it was, some creates are questions, and some libraries send a patch even if it is empty.
func (o *op) changes() bool {
	return (o.at.verb == faults.VerbUpdate || o.at.verb == faults.VerbPatch) && !o.apply &&
		!strings.Contains(o.query, "dryRun=") && string(bytes.TrimSpace(o.body)) != "{}"
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

// users returns the next step of users, or nil.
func (g *gate) users() *op {
	if all := g.inOrder(); len(all) > 0 && all[0].users() {
		return all[0]
	}
	return nil
}

// inOrder returns what waits, in an order that does not depend on goroutines: users come first, then what processes get,
// then what they ask for, and of that what they asked for first.
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
	switch {
	case o.users():
		return 0
	case o.delivery:
		return 1
	}
	return 2
}
