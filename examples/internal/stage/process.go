package stage

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/internal/longtest"
)

// errCrashed is the result of all requests of a process that has crashed.
var errCrashed = errors.New("stage: the program has crashed")

// process is one life of a program, from its start to its end or its crash. A program that has crashed
// reaches no server any more, whatever it still does.
type process struct {
	stage *Stage // where the program runs
	end   context.CancelFunc
	dead  atomic.Bool
}

func (p *process) crash() {
	p.dead.Store(true)
	p.end()
}

// live runs the program, and again after each crash, until ctx is done.
func (s *Stage) live(ctx context.Context) error {
	for {
		life, end := context.WithCancel(ctx)
		p := &process{stage: s, end: end}
		err := s.run(life, s.connection(p))
		end()
		if err != nil || ctx.Err() != nil || !p.dead.Load() {
			return err
		}
	}
}

func (s *Stage) connection(p *process) client.Connection {
	return client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: line{s, p}}}
}

// Lend leads a program of another stage to the server of s, which notes its writes. Program is the result of
// that program's start.
func (s *Stage) Lend(program client.Connection) client.Connection {
	of := program.HTTP.Transport.(line).of
	of.stage.mu.Lock()
	defer of.stage.mu.Unlock()
	if !slices.Contains(of.stage.lenders, s) {
		of.stage.lenders = append(of.stage.lenders, s)
	}
	return s.connection(of)
}

// line is the way of a process to the server of a stage.
type line struct {
	to *Stage
	of *process
}

// RoundTrip implements http.RoundTripper. It may be the last request of the process: before the server gets it, or
// after the server has carried it out.
func (l line) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.of.dead.Load() {
		return nil, errCrashed
	}
	writes := r.Method != http.MethodGet
	if writes {
		l.to.note(r)
	}
	when := l.of.stage.chaos.draw(writes)
	if when == before {
		l.of.crash()
		return nil, errCrashed
	}
	answer, err := l.to.Server.Client().Transport.RoundTrip(r)
	if when == after && err == nil {
		l.of.crash()
		return nil, errors.Join(errCrashed, answer.Body.Close())
	}
	return answer, err
}

// moment is the point at which a process crashes.
type moment int

const (
	never  moment = iota
	before        // the server gets the request
	after         // the server has carried it out, and the process does not have the answer
)

// chaos decides when processes crash, and counts. The zero value lets none crash.
type chaos struct {
	mu     sync.Mutex
	random *rand.Rand
	struck crashes
	writes int
}

// crashes are numbers of crashes: before and after a write, and in a read.
type crashes struct{ before, after, reads int }

func (c *chaos) begin(seed uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.random = rand.New(rand.NewPCG(seed, 1))
}

func (c *chaos) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.random = nil
}

// draw decides about a request: one write in three is the last request of its process, and one read in ten.
func (c *chaos) draw(writes bool) moment {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.random == nil {
		return never
	}
	if writes {
		c.writes++
	}
	switch {
	case !writes && c.random.IntN(10) == 0:
		c.struck.reads++
		return before
	case writes && c.random.IntN(6) == 0:
		c.struck.before++
		return before
	case writes && c.random.IntN(5) == 0:
		c.struck.after++
		return after
	}
	return never
}

// BadDays runs a schedule for each of short seeds, or of long ones with KINFORM_LONG=1, each in its own bubble.
// The test fails if a key runs in a loop: a controller says so, or the writes show it (fake.Server.Loops). It also fails
// if the programs never crashed. Programs that write must have crashed before a write and after
// one, and answers to their writes must have been lost. A seed repeats the faults, but not the order of the
// programs' goroutines.
func BadDays(t *testing.T, short, long uint64, day func(t *testing.T, seed uint64) *Stage) {
	t.Helper()
	NoLoops(t)
	var sum crashes
	seeds, writes, lost := uint64(0), 0, 0
	for seed := range longtest.N(short, long) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := day(t, seed)
				s.Stop() // nothing counts from here on
				for _, of := range append(s.lenders, s) {
					if loops := of.Server.Loops(); len(loops) > 0 {
						t.Errorf("loops: %q", loops)
					}
				}
				sum.before += s.chaos.struck.before
				sum.after += s.chaos.struck.after
				sum.reads += s.chaos.struck.reads
				writes += s.chaos.writes
				lost += s.lostAnswers()
				seeds++
			})
		})
	}
	t.Logf("%d schedules with %d writes, crashes %+v, %d answers to writes were lost", seeds, writes, sum, lost)
	if seeds < longtest.N(short, long) {
		return // some were left out on the command line
	}
	if sum.reads == 0 || writes > 0 && (sum.before == 0 || sum.after == 0 || lost == 0) {
		t.Error("the days were not bad enough")
	}
}

// lostAnswers returns how many answers to writes of the program were cut off.
func (s *Stage) lostAnswers() (n int) {
	for _, lender := range s.lenders {
		n += lender.lostAnswers()
	}
	for _, f := range s.Server.Struck() {
		if f.CutBytes > 0 && f.Verb != faults.VerbList {
			n++
		}
	}
	return n
}
