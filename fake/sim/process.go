package sim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
)

// The times until a process is started again.
const (
	afterCrash = time.Second
	afterEnd   = 10 * time.Second // it ended on its own, and a kubelet would wait
)

// process is one of the program's. Its goroutine sets the fields, and the run reads them.
type process struct {
	number int                    // from 1
	life   atomic.Pointer[life]   // the present one
	wrong  atomic.Pointer[string] // how it ended although it must not
	ended  atomic.Bool            // it is not started again
}

func (p *process) fault(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.wrong.Store(&text)
}

// life is one life of a process, from its start to its end or its crash.
type life struct {
	process int // its number
	end     context.CancelFunc
	dead    atomic.Bool
	watches map[call]bool // that it has begun; the run's
}

// crash ends a life. From now on it reaches no server.
func (l *life) crash() {
	l.dead.Store(true)
	l.end()
}

// live runs a process again and again, until ctx ends. No two processes start at once.
func (r *run) live(ctx context.Context, p *process) {
	wait := time.Duration(p.number-1) * latency
	time.Sleep(wait)
	for ctx.Err() == nil {
		lifetime, end := context.WithCancel(ctx)
		l := &life{process: p.number, end: end, watches: map[call]bool{}}
		p.life.Store(l)
		err := apart(func() error { return r.begin(lifetime, l) })
		end()
		crashed := l.dead.Swap(true)
		if ctx.Err() != nil {
			if err != nil {
				p.fault("Run returned an error after its context had ended: %v", err)
			}
			break
		}
		pause := afterCrash
		if !crashed {
			pause = afterEnd
			if r.base == nil || errors.Is(err, errQuit) {
				p.fault("process %d ended on its own: %v", p.number, err)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause + wait):
		}
	}
	p.ended.Store(true)
	r.gate.notify()
}

// begin runs a process until it ends. Messages say where it is by the name of this function.
func (r *run) begin(ctx context.Context, l *life) error {
	return r.program.Run(ctx, client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: road{r, l}}})
}

// crashAll ends all processes.
func (r *run) crashAll() {
	for _, p := range r.processes {
		if l := p.life.Load(); l != nil {
			l.crash()
		}
	}
}

// anyDies reports whether a process has crashed and has not started again.
func (r *run) anyDies() bool {
	return slices.ContainsFunc(r.processes, func(p *process) bool { l := p.life.Load(); return l != nil && l.dead.Load() })
}

// anyLives reports whether a process has not ended for good.
func (r *run) anyLives() bool {
	return slices.ContainsFunc(r.processes, func(p *process) bool { return !p.ended.Load() })
}

// ends checks how the processes ended.
func (r *run) ends() {
	for _, p := range r.processes {
		if wrong := p.wrong.Load(); wrong != nil && r.result.broken == nil {
			r.find("ends", "%s", *wrong)
		}
	}
}
