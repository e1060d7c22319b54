package usercode

import (
	"context"
	"sync"
	"sync/atomic"
)

// Run is work of several goroutines that the first failure ends. NewRun makes one.
type Run struct {
	// Ctx ends with the context given to NewRun, with the first failure, or with Cancel.
	Ctx context.Context
	// Cancel ends Ctx without a failure.
	Cancel context.CancelFunc

	sync.WaitGroup // of the goroutines

	failed atomic.Pointer[error] // the failure that ended Ctx
}

// NewRun returns a Run without goroutines. Cancel it in the end.
func NewRun(ctx context.Context) *Run {
	r := &Run{}
	r.Ctx, r.Cancel = context.WithCancel(ctx)
	return r
}

// Fail ends Ctx because of err, which may be nil. A failure after the end of Ctx does not count.
func (r *Run) Fail(err error) {
	if err != nil && r.Ctx.Err() == nil {
		r.failed.CompareAndSwap(nil, &err)
	}
	r.Cancel()
}

// Err returns the first failure, nil if there was none.
func (r *Run) Err() error {
	if failed := r.failed.Load(); failed != nil {
		return *failed
	}
	return nil
}
