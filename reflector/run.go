package reflector

import "context"

// run is Reflector.Run.
func (r *core) run(ctx context.Context) error {
	if !r.running.CompareAndSwap(false, true) {
		return errStarted
	}
	stop, err := r.follows.follow(ctx)
	if err != nil {
		return err
	}
	defer r.leave(stop)
	for ctx.Err() == nil {
		of, watches, err := r.next(ctx)
		if watches {
			// Called here, and not there, so that little of the stack is in use during a watch.
			err = r.watchOnce(of)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	if r.state.token != "" {
		r.sink.Discard() // between two pages
	}
	return nil
}

// leave ends run. stop ends following the selection.
func (r *core) leave(stop func()) {
	stop()
	r.stats.listIsOver()
	r.endFailing()
}

// next prepares the next request, and sends it unless it is a watch. The request's context is of.
//
//go:noinline
func (r *core) next(ctx context.Context) (of context.Context, watches bool, err error) {
	of, ready, err := r.follows.turn(ctx, &r.state, &r.stats, r.log, r.sink)
	if ready {
		watches, err = r.listOrCheck(of)
	}
	if interrupted(of) && isCanceled(err) {
		err = nil // the selection has changed
	}
	return of, watches, err
}

// listOrCheck waits until the breaker admits a request, and sends the next one unless that is a
// watch. The error is the sink's, and nil if ctx is done.
func (r *core) listOrCheck(ctx context.Context) (watches bool, err error) {
	isBack := r.breaker.admit(ctx, &r.opts.Backoff)
	if ctx.Err() != nil {
		return false, nil
	}
	if isBack {
		r.spareList()
	}
	switch r.state.phase {
	case phaseListing:
		if err = r.listOnce(ctx); ctx.Err() != nil {
			err = nil
		}
	case phaseChecking:
		r.checkServer(ctx)
	case phasePolling:
		r.poll(ctx)
	default:
		watches = true
	}
	return watches, err
}
