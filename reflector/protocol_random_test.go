package reflector

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/longtest"
)

var anyListFailure = []string{"reset", "unauthorized", "store-read", "unknown", "expired", "gone", "too-large", "too-large-1.17", "timeout", "busy", "refused", "eof", "internal", "forbidden", "not-found", "unusable"}

var anyStreamFailure = append([]string{"invalid", "bad-request", "unreadable-delete"}, anyListFailure...)

var anyWatchFailure = append([]string{"out-of-order"}, anyListFailure...)

// TestRandomSteps walks the protocol through random outcomes, whatever a server may
// answer, and checks what must hold after every step.
func TestRandomSteps(t *testing.T) {
	for seed := range longtest.N[uint64](300, 10_000) {
		w := walk{t: t, seed: seed, rand: rand.New(rand.NewPCG(seed, 1)), now: noon}
		opts := Tuning{DisableWatchList: seed%4 == 0, Backoff: Backoff{Max: 30 * time.Second}}
		if seed%8 > 4 {
			opts.FirstVersion = new([]string{"", "0", "3"}[w.rand.IntN(3)])
		}
		w.state = initialState(opts)
		for range 100 {
			w.step()
			if t.Failed() {
				return
			}
		}
	}
}

// walk is one random run of the protocol.
type walk struct {
	t        *testing.T
	seed     uint64
	rand     *rand.Rand
	state    state
	now      time.Time
	unspaced int // failures without a wait since the last wait or whole list
	// relists counts the failed watches without a wait since the last one that brought news.
	relists int
}

func (w *walk) step() {
	before := w.state
	var next state
	var st step
	var what string
	w.now = w.now.Add(time.Duration(w.rand.IntN(20)) * time.Second)
	switch before.phase {
	case phaseWatching:
		next, st, what = w.watchOutcome()
	case phaseStreaming:
		next, st, what = w.streamOutcome()
	case phaseChecking:
		next, st, what = w.checkOutcome()
	default:
		next, st, what = w.listOutcome()
	}
	w.state = next
	w.check(before, what, next, st)
	w.checkProgress(next)
}

// version is one near what was seen, so that both older and newer ones come up.
func (w *walk) version() string {
	seen, _ := strconv.Atoi(w.state.rv)
	return strconv.Itoa(max(1, seen-3+w.rand.IntN(10)))
}

func (w *walk) listOutcome() (state, step, string) {
	if w.rand.IntN(3) == 0 {
		word := anyListFailure[w.rand.IntN(len(anyListFailure))]
		next, st := w.state.listFailed(failure(word, w.rand.IntN(4)))
		return next, st, word
	}
	page := metav1.ListMeta{ResourceVersion: w.version()}
	if w.rand.IntN(10) == 0 {
		page.ResourceVersion = ""
	}
	if w.rand.IntN(2) == 0 {
		page.Continue = "token"
	}
	next, st := w.state.pageListed(page, w.rand.IntN(2) == 0, "")
	return next, st, "page of " + page.ResourceVersion + " " + page.Continue
}

func (w *walk) streamOutcome() (state, step, string) {
	if w.rand.IntN(3) == 0 {
		rv := w.version()
		if w.rand.IntN(10) == 0 {
			rv = ""
		}
		next, st := w.state.streamListed(rv, "")
		return next, st, "end of the list at " + rv
	}
	end := watchEnd{at: w.now, rv: w.state.rv, short: w.rand.IntN(2) == 0, steady: w.rand.IntN(4) == 0}
	what := "close"
	switch w.rand.IntN(4) {
	case 0:
		what, end.ignored = "silent", true
	case 1, 2:
		what = anyStreamFailure[w.rand.IntN(len(anyStreamFailure))]
		end.err = failure(what, w.rand.IntN(4))
	}
	next, st := w.state.streamFailed(end)
	return next, st, what
}

func (w *walk) watchOutcome() (state, step, string) {
	end := watchEnd{began: w.now.Add(-time.Second), at: w.now, rv: w.state.rv, short: w.rand.IntN(2) == 0, steady: w.rand.IntN(8) == 0}
	if w.rand.IntN(3) == 0 {
		end.rv = newest(end.rv, w.version())
	}
	what := "close"
	if w.rand.IntN(3) > 0 {
		what = anyWatchFailure[w.rand.IntN(len(anyWatchFailure))]
		end.err = failure(what, w.rand.IntN(4))
	}
	if end.steady || end.rv != w.state.rv {
		w.relists = 0
	}
	next, st := w.state.watchEnded(end)
	if at := w.now.Add(time.Duration(w.rand.IntN(40)) * time.Second); st.relist == noRelist && st.err != nil && next.listIsDue(at, st.err) {
		next, st.relist = next.instead(at, w.rand.IntN(2) == 0)
	}
	if w.rand.IntN(3) == 0 {
		next = next.verifyFrom([]string{"", "1"}[w.rand.IntN(2)])
	}
	return next, st, what
}

// checkOutcome is the answer to the question whether the server was restored.
func (w *walk) checkOutcome() (state, step, string) {
	v := verdict{answer: finding(w.rand.IntN(int(refuted) + 1)), refutes: ErrRestored, named: w.rand.IntN(2) == 0, last: w.rand.IntN(2) == 0}
	if w.rand.IntN(3) == 0 {
		word := anyListFailure[w.rand.IntN(len(anyListFailure))]
		err := failure(word, w.rand.IntN(4))
		v.unreached = isUnanswered(err) && w.rand.IntN(2) == 0
		next, st := checked(w.state, metav1.ListMeta{}, err, v)
		return next, st, "check: " + word
	}
	rv := w.version()
	next, st := checked(w.state, metav1.ListMeta{ResourceVersion: rv}, nil, v)
	return next, st, fmt.Sprintf("check: answer %d at %s", v.answer, rv)
}

func (w *walk) check(before state, what string, next state, st step) {
	bad := func(rule string) {
		w.t.Helper()
		w.t.Errorf("seed %d: %s\n  from %s\n  after %s\n  to   %s\n  step %s", w.seed, rule, before.text(), what, next.text(), st.text())
	}
	failed := st.err != nil
	if st.replace && (st.discard || failed || st.pause != noPause) {
		bad("a list is both whole and failed")
	}
	now, then := next.holdsList(), before.holdsList()
	back := !before.trial.IsZero() && failed // the watch goes on
	if st.replace != (now && !then && !back) {
		bad("the sink is not told exactly when a list becomes whole")
	}
	if st.replace && next.rv == "" && next.versioned {
		bad("a watch without a version")
	}
	if st.discard && (now && !back || next.token != "" || next.pageRV != "") {
		bad("a discarded list goes on")
	}
	if failed && !then && !st.discard {
		bad("a failed list is kept")
	}
	// What is wrong with a request for a streaming list may be the streaming.
	quiet := before.phase == phaseStreaming && next.phase == phaseListing
	if (st.pause != noPause && st.pause != pauseEnd || st.atLeast != 0 || st.discard && !quiet) && !failed {
		bad("something went wrong and is not reported")
	}
	if (st.relist != noRelist) != (then && !now) {
		bad("a list instead of a watch needs a reason, and nothing else does")
	}
	if next.phase == phaseStreaming && next.stream < streamUnknown || next.stream < before.stream && before.stream == streamSupported && what != "silent" {
		bad("what the server can do was forgotten")
	}
	if next.phase == phaseChecking && next.tried >= maxHung {
		bad("asks in vain for ever")
	}
	if next.unverified > 0 && next.phase == phaseWatching && before.phase == phaseWatching && next.replayRV == "" && before.unverified == 0 {
		bad("an answer is forgotten")
	}
	if before.phase == phaseWatching && failed && st.pause == noPause {
		if w.relists++; st.relist == noRelist || w.relists > 1 {
			bad("failed watches without news are followed up without a wait")
		}
	}
	if isOlder(next.rv, before.rv) && !(st.replace && before.version() == "") {
		bad("went back without asking the storage")
	}
	if patience := next.patience; before.phase == phaseWatching && now && failed && !next.barren.IsZero() && next.due.IsZero() && next.rv != "" {
		if what == "internal" && !next.byLists {
			patience = next.internalRetry
		}
		if w.now.Sub(next.barren) >= mostPatience*patience || next.failedLists == 0 && w.now.Sub(next.barren) >= patience {
			bad("keeps watching in vain")
		}
	}
	before.drought = next.drought // of the watch's end, not of the relist
	switch {
	case then && (what == "expired" || what == "gone") && next.text() != before.relistText(next.rv, next.rv):
		bad("an expired watch must list at the last version")
	case then && what == "too-large" && next.text() != before.relistText(next.rv, ""):
		bad("a watch from the future must list from storage")
	case !then && (what == "too-large" || what == "expired") && next.version() == before.version() && next.version() != "":
		bad("a version that is not there is asked for again")
	}
	switch {
	case st.pause != noPause || st.replace:
		w.unspaced = 0
	case st.discard:
		w.unspaced++
	}
	// A streaming list at a version that expired, then one that the server refuses, then
	// a list whose pages expired: the next failure must wait.
	if w.unspaced > 3 {
		bad("failure after failure without a wait")
	}
}

// holdsList reports whether the sink holds a whole list.
func (s state) holdsList() bool { return s.phase == phaseWatching || s.phase == phaseChecking }

func (s state) relistText(rv, listRV string) string {
	s.rv, s.unpaged, s.relisted = rv, false, true
	return s.relist(listRV).text()
}

// checkProgress lets honest servers answer from state s. After a few requests the state must
// watch from the server's own version. One server is ahead of everything seen, and another was
// restored from an old backup. Both refuse every token, once with streaming lists and once
// without.
func (w *walk) checkProgress(s state) {
	for _, rv := range []string{"1000000", "1"} {
		for _, streams := range []bool{true, false} {
			at := s
			for range 6 {
				if at.phase == phaseWatching && at.rv == rv {
					break
				}
				at = at.honest(rv, streams)
			}
			if at.phase != phaseWatching || at.rv != rv {
				w.t.Errorf("seed %d: a server at %s (streams: %v) does not get %s further than %s", w.seed, rv, streams, s.text(), at.text())
			}
		}
	}
}

// honest is the state after the answer of a server at version rv.
func (s state) honest(rv string, streams bool) state {
	ahead := s.version() != "" && s.version() != "0" && isOlder(rv, s.version())
	switch {
	case s.phase == phaseWatching && ahead:
		s, _ = s.watchEnded(watchEnd{rv: s.rv, err: failure("too-large", 0)})
	case s.phase == phaseWatching:
		s, _ = s.watchEnded(watchEnd{rv: rv})
	case s.phase == phaseChecking && ahead:
		s, _ = checked(s, metav1.ListMeta{}, failure("too-large", 0), verdict{})
	case s.phase == phaseChecking:
		s, _ = checked(s, metav1.ListMeta{ResourceVersion: rv}, nil, verdict{})
	case s.phase == phaseStreaming && !streams:
		s, _ = s.streamFailed(watchEnd{err: failure("invalid", 0)})
	case s.phase == phaseStreaming && ahead:
		s, _ = s.streamFailed(watchEnd{err: failure("too-large", 0)})
	case s.phase == phaseStreaming:
		s, _ = s.streamListed(rv, "")
	case s.token != "":
		s, _ = s.listFailed(failure("expired", 0))
	case ahead:
		s, _ = s.listFailed(failure("too-large", 0))
	default:
		s, _ = s.pageListed(metav1.ListMeta{ResourceVersion: rv}, false, "")
	}
	return s
}
