package leader

import (
	"sync"

	"github.com/kinform/kinform/internal/usercode"
)

// maxErrors is how many errors may wait for OnError.
const maxErrors = 16

// teller calls OnLeader and OnError in a goroutine of its own, so that they cannot hold up a renewal.
type teller struct {
	e     *Elector
	wake  chan struct{} // one element: there is something to tell
	ended chan struct{}

	mu      sync.Mutex
	errs    []error
	holder  string
	changed bool // holder is to be told
}

func newTeller(e *Elector) *teller {
	t := &teller{e: e, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go t.loop()
	return t
}

// loop owns the calls.
func (t *teller) loop() {
	defer close(t.ended)
	for range t.wake {
		for t.next() {
		}
	}
}

// next makes one call. It returns false if there is none to make.
func (t *teller) next() bool {
	t.mu.Lock()
	holder, changed, errs := t.holder, t.changed, t.errs
	t.changed, t.errs = false, nil
	t.mu.Unlock()
	if changed && t.e.opts.OnLeader != nil {
		if err := usercode.Call("OnLeader", func() { t.e.opts.OnLeader(holder) }); err != nil {
			errs = append(errs, err)
		}
	}
	for _, err := range errs {
		usercode.Tell(t.e.log, t.e.opts.OnError, err)
	}
	return changed || len(errs) > 0
}

// leader tells the holder, unless it is the one that was told last.
func (t *teller) leader(holder string) {
	t.mu.Lock()
	news := holder != t.holder
	t.holder, t.changed = holder, t.changed || news
	t.mu.Unlock()
	if news {
		t.signal()
	}
}

// error tells an error. If too many wait, it is logged.
func (t *teller) error(err error) {
	t.mu.Lock()
	full := len(t.errs) >= maxErrors
	if !full {
		t.errs = append(t.errs, err)
	}
	t.mu.Unlock()
	if full {
		t.e.log.Error(err)
		return
	}
	t.signal()
}

func (t *teller) signal() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// close waits until everything is told. Nothing may be told after it.
func (t *teller) close() {
	close(t.wake)
	<-t.ended
}
