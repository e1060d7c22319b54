package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kinform/kinform/internal/logs"
)

// requestTimeout limits a request, so that a server that does not answer holds up the others for
// no longer than this.
const requestTimeout = 30 * time.Second

// Run writes events until ctx is done, and then those that wait, for Options.FlushTimeout at most.
// Then it returns nil; the events that are left are dropped and reported. By then every goroutine
// that it started has ended. Then it can be called again, as a manager does in each term: it writes what was recorded
// meanwhile, too. It returns [Recorder.Err] at once
// if that is not nil, and [ErrStarted] while another call runs.
func (r *Recorder) Run(ctx context.Context) error {
	if err := r.Err(); err != nil {
		return err
	}
	if !r.begin() {
		return fmt.Errorf("events: the recorder of %q: %w", r.opts.Controller, ErrStarted)
	}
	send, end := r.flushContext(ctx)
	defer end()
	for r.step(ctx, send) {
	}
	r.mu.Lock()
	lost, limited := r.table.stop()
	r.running, r.late = false, logs.Late{}
	r.mu.Unlock()
	r.reportLimited(limited)
	if lost > 0 {
		r.report(&Error{Lost: lost, Err: ErrStopped})
	}
	return nil
}

// begin reports whether Run may run.
func (r *Recorder) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running {
		return false
	}
	r.started, r.running = true, true
	r.late.Stop()
	return true
}

// flushContext returns the context of requests, which is done FlushTimeout after ctx, and a
// function that frees what belongs to it.
func (r *Recorder) flushContext(ctx context.Context) (send context.Context, end func()) {
	send, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-ctx.Done():
		case <-send.Done():
			return
		}
		wait(send, nil, r.opts.FlushTimeout)
		cancel()
	}()
	return send, func() {
		cancel()
		<-ended
	}
}

// wait waits for the end of ctx, for wake, or for a time.
func wait(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer.C:
	}
}

// step sends a request, or waits until there is something to do. It returns false if there is
// nothing more to do.
func (r *Recorder) step(ctx, send context.Context) bool {
	flush := ctx.Err() != nil
	if send.Err() != nil || flush && r.opts.FlushTimeout < 0 {
		return false
	}
	s, request, at, lost := r.take(flush)
	r.reportLimited(lost)
	switch {
	case s != nil:
		r.finish(s, request, r.send(send, request))
		return true
	case flush && at.IsZero():
		return false
	case flush:
		ctx = send
	}
	sleep := time.Hour
	if !at.IsZero() {
		sleep = time.Until(at)
	}
	wait(ctx, r.wake, sleep)
	return true
}

// reportLimited reports events that limits have dropped, if there are some.
func (r *Recorder) reportLimited(lost uint64) {
	if lost > 0 {
		r.report(&Error{Lost: lost, Err: fmt.Errorf("%w: more than %d series, or %d of one object", ErrLimit, r.opts.MaxSeries, r.opts.MaxPerObject)})
	}
}

// take returns the request to send, or the time at which to call it again. That time is zero if
// only another event can change something, and while flushing if nothing is left. lost is the
// number of events to report.
func (r *Recorder) take(flush bool) (s *series, request request, at time.Time, lost uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.table.hurry = flush
	lost, tellAt := r.table.tell(now)
	s, at = r.table.next(now)
	switch {
	case s != nil:
		return s, r.request(s), at, lost
	case flush && len(r.table.waiting) == 0:
		return nil, request, time.Time{}, lost
	case !tellAt.IsZero() && (at.IsZero() || tellAt.Before(at)):
		at = tellAt
	}
	return nil, request, at, lost
}

// request is a create with the whole event, or a patch of its series.
type request struct {
	create bool
	event  *Event
}

// request returns the request for a series. It is called under the lock.
func (r *Recorder) request(s *series) request {
	about := s.key.about
	e := &Event{
		EventTime: metav1.NewMicroTime(s.first), Type: s.key.kind, Reason: s.key.reason, Action: s.key.action, Note: s.key.note,
		ReportingController: r.opts.Controller, ReportingInstance: r.opts.Instance, Regarding: about,
	}
	if s.name == "" {
		s.name = eventName(about.Name)
	}
	e.Name, e.Namespace = s.name, about.Namespace
	if e.Namespace == "" {
		e.Namespace = metav1.NamespaceDefault // the API server wants events about cluster-scoped objects there
	}
	if s.sent > 1 {
		e.Series = &Series{Count: count32(s.sent), LastObservedTime: metav1.NewMicroTime(s.last)}
	}
	return request{create: !s.exists, event: e}
}

// eventName returns a name that no other event has, and that begins with the name of the object.
// Objects of some kinds have names that events cannot have.
func eventName(object string) string {
	const maxObject = validation.DNS1123SubdomainMaxLength - len(".0123456789abcdef")
	if len(object) > maxObject {
		object = strings.TrimRight(object[:maxObject], ".-")
	}
	if len(validation.IsDNS1123Subdomain(object)) > 0 {
		object = "object"
	}
	return fmt.Sprintf("%s.%016x", object, rand.Uint64())
}

// send sends a request.
func (r *Recorder) send(ctx context.Context, what request) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if what.create {
		_, err := r.client.Create(ctx, what.event, metav1.CreateOptions{})
		return err
	}
	patch, err := json.Marshal(map[string]any{"series": what.event.Series})
	if err != nil {
		return err
	}
	key := types.NamespacedName{Namespace: what.event.Namespace, Name: what.event.Name}
	_, err = r.client.Patch(ctx, key, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// finish takes a series back after its request.
func (r *Recorder) finish(s *series, what request, err error) {
	result, after := judge(what.create, err)
	r.mu.Lock()
	lost := r.table.settle(s, result, after, time.Now())
	r.mu.Unlock()
	if lost > 0 || result == failed {
		r.report(&Error{Regarding: s.key.about, Reason: s.key.reason, Lost: lost, Err: err})
	}
}

// judge returns the outcome of a request, and how long the server wants no further request.
func judge(create bool, err error) (what outcome, after time.Duration) {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return written, 0
	case create && apierrors.IsAlreadyExists(err):
		return taken, 0
	case !create && apierrors.IsNotFound(err):
		return gone, 0
	case !errors.As(err, &status):
		return failed, 0
	}
	if seconds, asked := apierrors.SuggestsClientDelay(err); asked {
		after = min(time.Duration(seconds)*time.Second, maxAfter)
	}
	switch code := status.Status().Code; {
	case code == 401, code == 408, code == 409, code == 429, code >= 500:
		return failed, after
	}
	return refused, 0
}

// maxAfter limits the delay that a server can ask for.
const maxAfter = 5 * time.Minute
