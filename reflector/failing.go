package reflector

import (
	"errors"
	"time"
)

// badObject reports err and returns it if it concerns a single object. Otherwise it returns
// nil.
func (p *protocol) badObject(err error) *ObjectError {
	var bad *ObjectError
	if !errors.As(err, &bad) {
		return nil
	}
	p.stats.badObjects.Add(1)
	p.opts.OnError(err)
	return bad
}

// setReason records why the last request failed.
func (p *protocol) setReason(why pause) {
	if why == noPause || why == p.reason {
		return
	}
	p.forgetReason()
	p.reason = why
	p.breaker.countFailing(why, 1)
}

// succeeded records the success of a watch: it was accepted, or brought something.
func (p *protocol) succeeded() {
	why := p.endFailing()
	if p.vain != noPause {
		why, p.vain = p.vain, noPause
	}
	p.breaker.succeeded(why)
}

// watchLasted is succeeded for a watch that has lasted after one that was in vain for the reason why. It
// runs in another goroutine than Run.
func (p *protocol) watchLasted(why pause) {
	p.stats.fails(nil, time.Time{}, time.Time{})
	p.breaker.succeeded(why)
}

// succeededList is succeeded for a complete list. If watches fail, it says nothing about them: the
// next one will tell.
func (p *protocol) succeededList() {
	if p.reason == pauseRetry || p.state.dry.IsZero() && p.vain == noPause {
		p.breaker.succeeded(p.endFailing())
		return
	}
	p.notFailing()
}

// endFailing records that the reflector does not fail any more, and returns why it did. Nothing
// follows from that for other reflectors.
func (p *protocol) endFailing() pause {
	p.notFailing()
	return p.forgetReason()
}

// notFailing ends Stats.Failing.
func (p *protocol) notFailing() {
	if p.failing {
		p.failing = false
		p.stats.fails(nil, time.Time{}, time.Time{})
	}
}

// forgetReason returns why the last request failed, for the last time.
func (p *protocol) forgetReason() (why pause) {
	why, p.reason = p.reason, noPause
	if why != noPause {
		p.breaker.countFailing(why, -1)
	}
	return why
}
