package reflector

import (
	"errors"
	"time"
)

// badObject reports err and returns it if it concerns a single object. Otherwise it returns
// nil.
func (r *core) badObject(err error) *ObjectError {
	var bad *ObjectError
	if !errors.As(err, &bad) {
		return nil
	}
	r.stats.badObjects.Add(1)
	r.opts.OnError(err)
	return bad
}

// setReason records why the last request failed.
func (r *core) setReason(why pause) {
	if why == noPause || why == r.reason {
		return
	}
	r.forgetReason()
	r.reason = why
	r.breaker.countFailing(why, 1)
}

// succeeded records the success of a watch: it was accepted, or brought something.
func (r *core) succeeded() {
	why := r.endFailing()
	if r.vain != noPause {
		why, r.vain = r.vain, noPause
	}
	r.breaker.succeeded(why)
}

// watchLasted is succeeded for a watch that has lasted after one that was in vain for the reason why. It
// runs in another goroutine than Run.
func (r *core) watchLasted(why pause) {
	r.stats.fails(nil, time.Time{}, time.Time{})
	r.breaker.succeeded(why)
}

// succeededList is succeeded for a complete list. If watches fail, it says nothing about them: the
// next one will tell.
func (r *core) succeededList() {
	if r.reason == pauseRetry || r.state.dry.IsZero() && r.vain == noPause {
		r.breaker.succeeded(r.endFailing())
		return
	}
	r.notFailing()
}

// endFailing records that the reflector does not fail any more, and returns why it did. Nothing
// follows from that for other reflectors.
func (r *core) endFailing() pause {
	r.notFailing()
	return r.forgetReason()
}

// notFailing ends Stats.Failing.
func (r *core) notFailing() {
	if r.failing {
		r.failing = false
		r.stats.fails(nil, time.Time{}, time.Time{})
	}
}

// forgetReason returns why the last request failed, for the last time.
func (r *core) forgetReason() (why pause) {
	why, r.reason = r.reason, noPause
	if why != noPause {
		r.breaker.countFailing(why, -1)
	}
	return why
}
