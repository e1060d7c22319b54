package reflector

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// finding is a server's answer about its history.
type finding uint8

const (
	plausible finding = iota // the object is as it was; or the question was about the version alone, or was not understood
	doubtful                 // it has its uid and version, and other contents
	unproven                 // it changed or is gone, or there is none to ask for
	refuted                  // the history seen excludes what the server has
)

// question is a list of one object that has to show whether the server was restored.
type question struct {
	seen    string      // newest version seen
	open    bool        // that version may have more events
	object  knownObject // to ask for; the zero value asks for any object
	empty   bool        // at version seen, the collection had no objects
	objects int
	verdict
}

// verdict is what a question and its answer mean for the protocol.
type verdict struct {
	answer    finding
	refutes   error // describes the contradiction, if the answer is refuted
	named     bool  // the question is for one object
	last      bool  // no other object can be asked for
	unreached bool  // the question had no connection to the server
}

// newQuestion is the next question of a check.
func newQuestion(st *state, recent *recentEvents) *question {
	q := &question{seen: st.rv, open: recent.open.rv == st.rv, verdict: verdict{last: true}}
	all := recent.witnesses(q.seen)
	switch n := st.asked; {
	case st.nameless:
	case n < len(all):
		q.object, q.last, q.answer = all[n], n+1 == len(all), unproven
	case recent.n == 0:
		q.empty = recent.empty
	case recent.recentAt(recent.n - 1).known.isNamed():
		q.answer = unproven // all that is known are deletions
	}
	q.named = q.object.isNamed()
	return q
}

// witnesses returns the objects that the server still has at version seen, newest first. An
// object of the list counts only until the first event: later it would prove too little. Nor
// would an older one of the list prove enough.
func (s *recentEvents) witnesses(seen string) []knownObject {
	if s.n == 0 {
		if s.listed.isNamed() && !isOlder(seen, s.listed.rv) {
			return []knownObject{s.listed}
		}
		return nil
	}
	var all []knownObject
	passed := map[types.NamespacedName]bool{}
	for n := s.n - 1; n >= s.oldest(); n-- {
		e := s.recentAt(n)
		if !e.gone && e.known.isNamed() && !passed[e.known.key] {
			all = append(all, e.known)
		}
		passed[e.known.key] = true
	}
	return all
}

// options are the options of the request.
func (q *question) options() metav1.ListOptions {
	opts := metav1.ListOptions{Limit: 1, ResourceVersion: q.seen, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
	if q.object.isNamed() {
		opts.FieldSelector = q.object.selector()
	}
	return opts
}

// take takes an object of the answer, and reports whether the list is read on.
func (q *question) take(e *notice) bool {
	if q.objects++; q.objects > 1 { // the source ignores the limit
		return false
	}
	found := e.object
	// Unless the object is as it was, its state would have been seen.
	lost := !isOlder(q.seen, found.rv) && !(q.open && q.seen == found.rv)
	switch {
	case q.empty && lost && comparable(found.rv):
		q.answer, q.refutes = refuted, otherHistory("it has %s, and there was no object at %s", found.nameOf(), q.seen)
	case !q.object.isNamed():
	case q.object.is(found) && slices.Contains(e.differs[:], true):
		q.answer = doubtful
	case q.object.is(found), q.object.key != found.key: // or the source ignores the selector
		q.answer = plausible
	case lost:
		q.answer, q.refutes = refuted, otherHistory("it has %s in place of %s", found.nameOf(), q.object.nameOf())
	}
	return true
}

// endQuestion follows the end of the list.
func (q *question) endQuestion(page metav1.ListMeta, err error) (metav1.ListMeta, error) {
	if errors.Is(err, ErrListStopped) {
		q.answer = plausible
		return metav1.ListMeta{ResourceVersion: q.seen}, nil
	}
	if q.objects == 0 && page.Continue != "" { // the object may follow
		q.answer = plausible
	}
	return page, err
}

// checkServer asks the server for one object.
func (r *core) checkServer(ctx context.Context) {
	q, began := newQuestion(&r.state, &r.recent), time.Now()
	limit := checkTimeout
	if r.state.unverified > 0 {
		limit = recheckTimeout
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := r.beginCall(limited, false, q.seen)
	defer c.stop()
	r.log.Debug("asks whether the server was restored", slog.String("resourceVersion", q.seen), slog.String("name", q.object.key.Name))
	r.requests.ask(c, q)
	r.endCall(c)
	page, err := q.endQuestion(c.page, c.err)
	if ctx.Err() != nil {
		return
	}
	if err != nil && !errors.Is(err, errUnanswered) && limited.Err() != nil {
		err = errSlowCheck // a watch may take its time
	} else if isUnanswered(err) && wasUnreached(c.attempt, err) { // other errors may be about the question alone
		q.unreached = true
		r.spareList() // it could not come either
	}
	var st step
	if r.state, st = checked(r.state, page, err, q.verdict); err == nil {
		r.breaker.answered()
	}
	r.carryOut(ctx, st, c.asked, began)
}
