package queue

import (
	"context"
	"slices"
	"time"

	"github.com/kinform/kinform/internal/note"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/internal/verdict"
)

// pool holds the workers of one Run. The first fields are set once; workers, live and want belong
// to the goroutine that called Run.
type pool[K comparable] struct {
	q       *Queue[K]
	ran     *runs
	fn      func(context.Context, K) error
	stop    context.Context // ends the waiting
	calls   context.Context // parent of the contexts of the calls
	timeout time.Duration
	exits   chan *worker // each worker sends itself as its last act

	workers []*worker // those not told to stop
	live    int       // those that have not sent their exit, including those told to stop: at most this many calls run
	want    int       // the wanted value of live
}

type worker struct {
	cancel context.CancelFunc
	calls  context.Context // parent of the contexts of its calls; it has notes
	notes  note.Notes      // of the key that it works on
}

// supervise handles ends of workers, resizes and shutdown, until the last worker has ended.
func supervise[K comparable](p *pool[K], opts RunOptions, cancelCalls func()) error {
	stopped, drained, resize := p.stop.Done(), p.q.drained(), opts.Resize
	ending := false
	for !ending || p.live > 0 {
		select {
		case <-stopped:
			ending, stopped = true, nil
			p.resize(0)
			if _, atOnce := context.Cause(p.stop).(*verdict.AtOnceError); atOnce {
				cancelCalls()
			} else if opts.Grace > 0 {
				defer time.AfterFunc(opts.Grace, cancelCalls).Stop()
			}
		case <-drained: // also ends a pool that is paused
			ending, drained = true, nil
			p.resize(0)
		case n, ok := <-resize:
			switch {
			case !ok:
				resize = nil
			case !ending: // otherwise it is received all the same, because a call may send it
				p.resize(max(0, n))
			}
		case w := <-p.exits:
			p.ended(w)
		}
	}
	return nil
}

// resize tells workers to stop, or starts some. A worker that was told to stop counts until its
// call has returned, so that there are never more calls than the larger one of the old and the new
// number.
func (p *pool[K]) resize(n int) {
	p.ran.workers.Add(int64(n - p.want))
	p.want = n
	if n < len(p.workers) {
		for _, w := range p.workers[n:] {
			w.cancel()
		}
		p.workers = slices.Delete(p.workers, n, len(p.workers))
	}
	fill(p)
}

// fill starts the workers that are missing, unless they would end at once.
func fill[K comparable](p *pool[K]) {
	for p.live < p.want && p.stop.Err() == nil {
		ctx, cancel := context.WithCancel(p.stop)
		w := &worker{cancel: cancel}
		w.calls = note.With(p.calls, &w.notes)
		p.workers = append(p.workers, w)
		p.live++
		go p.work(ctx, w)
	}
}

// ended records the end of a worker, and replaces it if it was lost or if more are wanted by now.
func (p *pool[K]) ended(w *worker) {
	p.live--
	w.cancel()
	if i := slices.Index(p.workers, w); i >= 0 {
		p.workers = slices.Delete(p.workers, i, i+1)
	}
	fill(p)
}

// work is the goroutine of a worker. It ends when ctx or its parent p.stop ends, or when a call
// ends the goroutine. A context ends before its children do: a worker that asked ctx alone would
// call fn over and over with a context that has ended.
func (p *pool[K]) work(ctx context.Context, w *worker) {
	defer func() { p.exits <- w }()
	for p.stop.Err() == nil {
		it, err := get(ctx, p.q, true, &w.notes)
		if err != nil {
			return
		}
		handle(p, w, it)
	}
}

// handle calls fn for one key and settles the result, even if fn panics or ends the goroutine.
func handle[K comparable](p *pool[K], w *worker, it Item[K]) {
	v := verdict.Verdict{Outcome: verdict.Failed, Err: usercode.ErrGoexit}
	defer func() { settle(p, w, it, v) }()
	v = p.call(w.calls, it.Key)
}

func (p *pool[K]) call(ctx context.Context, key K) verdict.Verdict {
	if p.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.timeout)
		defer cancel()
	}
	var err error
	panicked := p.q.call("function of Run", func() { err = p.fn(ctx, key) })
	p.ran.timed(ctx, p.calls, p.timeout)
	if panicked != nil {
		return verdict.Verdict{Outcome: verdict.Failed, Err: panicked}
	}
	return verdict.Of(p.calls, err, p.q.call)
}

// settle gives a key back according to the result of its call. It gives the key back before it
// reports an error, because OnError can end the goroutine.
func settle[K comparable](p *pool[K], w *worker, it Item[K], v verdict.Verdict) {
	p.ran.count(v)
	if !v.Served() {
		putBack(it, &w.notes)
	}
	switch v.Outcome {
	case verdict.Succeeded, verdict.GaveUp, verdict.AskedAgain:
		p.forget(it, v)
	case verdict.CutShort:
		bringBack(it, 0, false, note.CutShort)
	case verdict.Failed:
		retry(p, it)
	}
	if v.Err != nil {
		report(p.q, it.Key, v.Err)
	}
}

// forget clears the failures of a key and gives it back. It first calls the limiter's Forget, which
// must not run during the key's next run. Even if that call ends the goroutine, the key is given
// back.
func (p *pool[K]) forget(it Item[K], v verdict.Verdict) {
	defer func() {
		if v.Outcome == verdict.AskedAgain {
			why := note.Again
			if v.PutOff {
				why = note.PutOff
			}
			bringBack(it, v.After, true, why)
		} else {
			it.done(true)
		}
	}()
	tellForgetter(p.q, it.Key)
}

// retry gives a key back and adds it again, rate limited. If Limiter, Class or OnError ends the
// goroutine, the key still comes back, as if the limiter had panicked.
func retry[K comparable](p *pool[K], it Item[K]) {
	returned := false
	defer func() {
		if returned {
			it.Done()
			return
		}
		bringBack(it, Exponential[K]{}.Delay(it.Key, p.q.Retries(it.Key)-1), false, note.Retry)
	}()
	p.q.AddWith(it.Key, AddOptions{Priority: it.Priority, RateLimited: true})
	returned = true
}
