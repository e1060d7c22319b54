package reflector

import "context"

// run is Reflector.Run.
func (p *protocol) run(ctx context.Context) error {
	if !p.running.CompareAndSwap(false, true) {
		return ErrStarted
	}
	defer p.endFailing()
	stop, err := p.follows.follow(ctx)
	if err != nil {
		return err
	}
	defer stop()
	for ctx.Err() == nil {
		of, ready, err := p.follows.turn(ctx, &p.state, &p.stats, p.log, p.sink)
		if ready {
			ready, err = p.listOrCheck(of)
		}
		if ready {
			// Called here, and not there, so that little of the stack is in use during a watch.
			err = p.watchOnce(of)
		}
		if err != nil && ctx.Err() == nil && !(interrupted(of) && isCanceled(err)) {
			return err
		}
	}
	if p.state.token != "" {
		p.sink.Discard() // between two pages
	}
	return nil
}

// listOrCheck waits until the breaker admits a request, and sends the next one unless that is a
// watch. The error is the sink's, and nil if ctx is done.
func (p *protocol) listOrCheck(ctx context.Context) (watches bool, err error) {
	isBack := p.breaker.admit(ctx, &p.opts.Backoff)
	if ctx.Err() != nil {
		return false, nil
	}
	if isBack {
		p.spareList()
	}
	switch p.state.phase {
	case listing:
		if err = p.listOnce(ctx); ctx.Err() != nil {
			err = nil
		}
	case checking:
		p.checkServer(ctx)
	case polling:
		p.poll(ctx)
	default:
		watches = true
	}
	return watches, err
}
