package reflector

import (
	"context"
	"time"
)

// Polling says that lists alone keep the sink up to date, because watches bring nothing. The zero value
// means that watches do.
type Polling struct {
	// Since is when that began.
	Since time.Time
	// Every is the time between two lists, without the time that they take and waits after failures.
	// If lists have no version, nothing can be watched, and it is Tuning.PollInterval. If watches
	// fail, it is Backoff.Max; Stats.Failing then has the reason until the next list.
	Every time.Duration
}

// poll waits between two lists without a version.
func (r *Reflector[T]) poll(ctx context.Context) {
	if r.breaker.sleep(ctx, noPause, r.opts.PollInterval, r.opts.PollInterval); ctx.Err() != nil {
		return
	}
	r.state = r.state.polledAgain()
	r.stats.relisted(becauseNoVersion, time.Now())
}

// notePolling records whether lists alone keep the sink up to date.
func (r *Reflector[T]) notePolling() {
	var now Polling
	switch {
	case r.state.polled:
		now = Polling{Since: time.Now(), Every: r.opts.PollInterval}
	case !r.state.byLists.IsZero():
		now = Polling{Since: r.state.byLists, Every: r.opts.Backoff.Max}
	}
	r.stats.polls(now)
}
