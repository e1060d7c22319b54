package reflector

import (
	"math/rand/v2"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var anyListFailure = []string{"expired", "gone", "too-large", "too-large-1.17", "timeout", "busy", "refused", "eof", "internal", "forbidden", "not-found"}

var anyWatchFailure = append([]string{"out-of-order"}, anyListFailure...)

// TestRandomSteps walks the protocol through random outcomes, whatever a server may
// answer, and checks what must hold after every step.
func TestRandomSteps(t *testing.T) {
	for seed := range uint64(2000) {
		w := walk{t: t, seed: seed, rand: rand.New(rand.NewPCG(seed, 1)), state: start()}
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
	t      *testing.T
	seed   uint64
	rand   *rand.Rand
	state  state
	rushed int // failures without a wait since the last wait or whole list
}

func (w *walk) step() {
	before := w.state
	var next state
	var st step
	var what string
	if before.watching {
		next, st, what = w.watchOutcome()
	} else {
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
	next, st := w.state.pageListed(page)
	return next, st, "page of " + page.ResourceVersion + " " + page.Continue
}

func (w *walk) watchOutcome() (state, step, string) {
	end := watchEnd{rv: w.state.rv, short: w.rand.IntN(2) == 0}
	if w.rand.IntN(3) == 0 {
		end.rv = newest(end.rv, w.version())
	}
	what := "close"
	if w.rand.IntN(3) > 0 {
		what = anyWatchFailure[w.rand.IntN(len(anyWatchFailure))]
		end.err = failure(what, w.rand.IntN(4))
	}
	next, st := w.state.watchEnded(end)
	return next, st, what
}

func (w *walk) check(before state, what string, next state, st step) {
	bad := func(rule string) {
		w.t.Helper()
		w.t.Errorf("seed %d: %s\n  from %s\n  after %s\n  to   %s\n  step %s", w.seed, rule, before.text(), what, next.text(), st.text())
	}
	failed := st.err != nil
	if st.replace && (st.discard || failed || st.backoff) {
		bad("a list is both whole and failed")
	}
	if st.replace != (next.watching && !before.watching) {
		bad("the sink is not told exactly when a list becomes whole")
	}
	if st.replace && next.rv == "" {
		bad("a watch without a version")
	}
	if st.discard && (next.watching || next.token != "" || next.pageRV != "") {
		bad("a discarded list goes on")
	}
	if failed && !before.watching && !st.discard {
		bad("a failed list is kept")
	}
	if (st.backoff || st.atLeast != 0 || st.discard) && !failed {
		bad("something went wrong and is not reported")
	}
	if before.watching && failed && !st.backoff {
		bad("a failed watch is followed up without a wait")
	}
	if older(next.rv, before.rv) && !(st.replace && before.listRV == "") {
		bad("went back without asking the storage")
	}
	if next.failures >= maxWatchFailures && what != "busy" && what != "refused" {
		bad("keeps watching in vain")
	}
	switch {
	case before.watching && (what == "expired" || what == "gone") && next.text() != relistText(next.rv, next.rv):
		bad("an expired watch must list at the last version")
	case before.watching && what == "too-large" && next.text() != relistText(next.rv, ""):
		bad("a watch from the future must list from storage")
	case !before.watching && (what == "too-large" || what == "expired") && next.listRV != "":
		bad("a version that is not there is asked for again")
	}
	switch {
	case st.backoff || st.replace:
		w.rushed = 0
	case failed:
		w.rushed++
	}
	// A list too old, then its pages expired: the third failure must wait.
	if w.rushed > 2 {
		bad("failure after failure without a wait")
	}
}

func relistText(rv, listRV string) string { return state{rv: rv, listRV: listRV}.text() }

// checkProgress lets honest servers answer from state s, which must then watch from the
// server's own version after a few requests: one that is ahead of all that was seen, and
// one that was restored from an old backup. Both refuse every token.
func (w *walk) checkProgress(s state) {
	for _, rv := range []string{"1000000", "1"} {
		at := s
		for range 5 {
			if at.watching && at.rv == rv {
				break
			}
			switch {
			case at.watching && older(rv, at.rv):
				at, _ = at.watchEnded(watchEnd{rv: at.rv, err: failure("too-large", 0)})
			case at.watching:
				at, _ = at.watchEnded(watchEnd{rv: rv})
			case at.token != "":
				at, _ = at.listFailed(failure("expired", 0))
			case at.listRV != "" && at.listRV != "0" && older(rv, at.listRV):
				at, _ = at.listFailed(failure("too-large", 0))
			default:
				at, _ = at.pageListed(metav1.ListMeta{ResourceVersion: rv})
			}
		}
		if !at.watching || at.rv != rv {
			w.t.Errorf("seed %d: a server at %s does not get %s further than %s", w.seed, rv, s.text(), at.text())
		}
	}
}
