package leader

import (
	"log/slog"
	"sync"

	"github.com/kinform/kinform/internal/usercode"
)

const (
	maxErrors = 16 // may wait for OnError
	maxLines  = 64 // may wait for Logger
)

// reporter calls OnLeader, OnError and Logger in its own goroutines, so that they cannot hold up a
// renewal or the end of a leadership.
type reporter struct {
	e     *Elector
	wake  chan struct{} // one element: there is something to report
	lines chan func()   // what to log
	ended sync.WaitGroup

	mu      sync.Mutex
	errs    []error
	holder  string
	changed bool // holder is to be reported
}

func newReporter(e *Elector) *reporter {
	r := &reporter{e: e, wake: make(chan struct{}, 1), lines: make(chan func(), maxLines)}
	r.ended.Go(r.loop)
	r.ended.Go(r.write)
	return r
}

// loop owns the calls of OnLeader and OnError. If one ends the goroutine, another goroutine goes
// on.
func (r *reporter) loop() {
	over := false
	defer func() {
		if !over {
			r.ended.Go(r.loop)
		}
	}()
	for r.next() {
	}
	for range r.wake {
		for r.next() {
		}
	}
	over = true
}

// write owns the calls of Logger, whose panics are dropped.
func (r *reporter) write() {
	for line := range r.lines {
		_ = usercode.Call("Logger", line)
	}
}

// next makes one call. It returns false if there is none to make.
func (r *reporter) next() bool {
	r.mu.Lock()
	holder, changed := r.holder, r.changed
	var err error
	if !changed && len(r.errs) > 0 {
		err, r.errs = r.errs[0], r.errs[1:]
	}
	r.changed = false
	r.mu.Unlock()
	switch {
	case changed && r.e.opts.OnLeader != nil:
		usercode.Contain("OnLeader", func() { r.e.opts.OnLeader(holder) }, func(err *PanicError) { r.add(err) })
	case err != nil:
		usercode.Report(r.e.log, r.e.opts.OnError, err)
	}
	return changed || err != nil
}

// leader reports the holder, unless that was the last holder reported.
func (r *reporter) leader(holder string) {
	r.mu.Lock()
	changed := holder != r.holder
	r.holder, r.changed = holder, r.changed || changed
	r.mu.Unlock()
	if changed {
		r.signal()
	}
}

// error reports an error. If too many wait, it is logged.
func (r *reporter) error(err error) {
	if !r.add(err) {
		r.log(func() { r.e.log.Error(err) })
	}
	r.signal()
}

// add reports whether there was room.
func (r *reporter) add(err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.errs) >= maxErrors {
		return false
	}
	r.errs = append(r.errs, err)
	return true
}

// debug logs what the candidate does.
func (r *reporter) debug(what string) {
	r.log(func() {
		r.e.log.Debug(what, slog.String("lease", r.e.key().String()), slog.String("identity", r.e.opts.Identity))
	})
}

// log logs, unless Logger hangs.
func (r *reporter) log(line func()) {
	select {
	case r.lines <- line:
	default:
	}
}

func (r *reporter) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// close waits until everything is reported. Nothing may be reported after it.
func (r *reporter) close() {
	close(r.wake)
	close(r.lines)
	r.ended.Wait()
}
