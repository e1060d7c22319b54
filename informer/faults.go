package informer

import (
	"errors"
	"sync"

	"github.com/kinform/kinform/internal/broadcast"
)

// faults are the errors of an informer's setup.
type faults struct {
	mu  sync.Mutex
	all error // joined: what err has returned is a part of what it returns later
}

func (f *faults) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = errors.Join(f.all, err)
}

func (f *faults) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all
}

// refusal says why no list comes, as WaitForSync needs it. The zero value is no refusal.
type refusal struct {
	mu      sync.Mutex
	err     *NotSyncingError // nil if there is none
	changed broadcast.Signal // that err is set
}

// last returns the refusal, or nil and a channel that is closed when there is one.
func (r *refusal) last() (*NotSyncingError, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err, r.changed.Wait()
}

func (r *refusal) set(err *NotSyncingError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
	if err != nil {
		r.changed.Send()
	}
}
