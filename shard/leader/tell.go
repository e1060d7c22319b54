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

// teller calls OnLeader, OnError and Logger in goroutines of its own, so that they cannot hold up a
// renewal or the end of a leadership.
type teller struct {
	e     *Elector
	wake  chan struct{} // one element: there is something to report
	lines chan func()   // what to log
	ended sync.WaitGroup

	mu      sync.Mutex
	errs    []error
	holder  string
	changed bool // holder is to be told
}

func newTeller(e *Elector) *teller {
	t := &teller{e: e, wake: make(chan struct{}, 1), lines: make(chan func(), maxLines)}
	t.ended.Go(t.loop)
	t.ended.Go(t.write)
	return t
}

// loop owns the calls of OnLeader and OnError. If one ends the goroutine, another goroutine goes
// on.
func (t *teller) loop() {
	over := false
	defer func() {
		if !over {
			t.ended.Go(t.loop)
		}
	}()
	for t.next() {
	}
	for range t.wake {
		for t.next() {
		}
	}
	over = true
}

// write owns the calls of Logger, whose panics are dropped.
func (t *teller) write() {
	for line := range t.lines {
		_ = usercode.Call("Logger", line)
	}
}

// next makes one call. It returns false if there is none to make.
func (t *teller) next() bool {
	t.mu.Lock()
	holder, changed := t.holder, t.changed
	var err error
	if !changed && len(t.errs) > 0 {
		err, t.errs = t.errs[0], t.errs[1:]
	}
	t.changed = false
	t.mu.Unlock()
	switch {
	case changed && t.e.opts.OnLeader != nil:
		usercode.Contain("OnLeader", func() { t.e.opts.OnLeader(holder) }, func(err *PanicError) { t.add(err) })
	case err != nil:
		usercode.Tell(t.e.log, t.e.opts.OnError, err)
	}
	return changed || err != nil
}

// leader reports the holder, unless that was the last holder reported.
func (t *teller) leader(holder string) {
	t.mu.Lock()
	changed := holder != t.holder
	t.holder, t.changed = holder, t.changed || changed
	t.mu.Unlock()
	if changed {
		t.signal()
	}
}

// error reports an error. If too many wait, it is logged.
func (t *teller) error(err error) {
	if !t.add(err) {
		t.log(func() { t.e.log.Error(err) })
	}
	t.signal()
}

// add reports whether there was room.
func (t *teller) add(err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.errs) >= maxErrors {
		return false
	}
	t.errs = append(t.errs, err)
	return true
}

// debug logs what the candidate does.
func (t *teller) debug(what string) {
	t.log(func() {
		t.e.log.Debug(what, slog.String("lease", t.e.key().String()), slog.String("identity", t.e.opts.Identity))
	})
}

// log logs, unless Logger hangs.
func (t *teller) log(line func()) {
	select {
	case t.lines <- line:
	default:
	}
}

func (t *teller) signal() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// close waits until everything is reported. Nothing may be reported after it.
func (t *teller) close() {
	close(t.wake)
	close(t.lines)
	t.ended.Wait()
}
