package reflector

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// text writes a state the way that the tables below do.
func (s state) text() string {
	var b strings.Builder
	switch s.phase {
	case phaseWatching:
		fmt.Fprintf(&b, "watch %s", s.rv)
	case phaseStreaming:
		fmt.Fprintf(&b, "stream %q", s.version())
	case phaseListing:
		fmt.Fprintf(&b, "list %q", s.listRV)
	case phasePolling:
		b.WriteString("poll")
	}
	if s.phase != phaseWatching && s.rv != "" {
		fmt.Fprintf(&b, " seen %s", s.rv)
	}
	if s.unpaged {
		b.WriteString(" unpaged")
	}
	if s.pageRV != "" || s.token != "" {
		fmt.Fprintf(&b, " pages of %s token %s", s.pageRV, s.token)
	}
	if s.failures != 0 {
		fmt.Fprintf(&b, " failures %d", s.failures)
	}
	if s.relisted {
		b.WriteString(" relisted")
	}
	if !s.dry.IsZero() {
		fmt.Fprintf(&b, " dry %v", noon.Sub(s.dry))
	}
	if !s.barren.IsZero() && s.barren != s.dry {
		fmt.Fprintf(&b, " barren %v", noon.Sub(s.barren))
	}
	if !s.trial.IsZero() {
		fmt.Fprintf(&b, " trial %v", noon.Sub(s.trial))
	}
	if s.failedLists != 0 {
		fmt.Fprintf(&b, " vain %d", s.failedLists)
	}
	if s.byLists {
		b.WriteString(" by lists")
	}
	if !s.versioned && (s.rv != "" || s.phase == phaseWatching) {
		b.WriteString(" unversioned")
	}
	switch s.stream {
	case streamUnsupported:
		b.WriteString(" no")
	case streamUnknown:
		b.WriteString(" maybe")
	case streamSupported:
		b.WriteString(" can")
	}
	if s.paged {
		b.WriteString(" paged")
	}
	if s.phase == phaseWatching && s.listRV != "" {
		fmt.Fprintf(&b, " LEFTOVER listRV %q", s.listRV)
	}
	return b.String()
}

var reasons = [relistReasons]string{"", "expired", "too-large", "order", "unreadable", "refused", "failing", "no-version"}

var pauses = map[pause]string{noPause: "", pauseEnd: "end", pauseResume: "resume", pauseRetry: "retry", pauseAway: "away", pauseDenied: "denied", pauseBusy: "busy"}

func (st step) text() string {
	var words []string
	add := func(on bool, word string) {
		if on {
			words = append(words, word)
		}
	}
	add(st.replace, "replace")
	add(st.discard, "discard")
	add(st.relist != noRelist, reasons[st.relist])
	add(st.err != nil, "report")
	add(st.pause != noPause, pauses[st.pause])
	add(st.resetBackoff, "reset")
	add(st.atLeast != 0, st.atLeast.String())
	return strings.Join(words, " ")
}

// listOutcomes and watchOutcomes are every kind of outcome that a request can have. Each
// returns what followed from it and the error that should be reported.
func listOutcomes() map[string]func(state) (state, step, error) {
	page := func(rv, token string, want error) func(state) (state, step, error) {
		return func(s state) (state, step, error) {
			next, st := s.pageListed(metav1.ListMeta{ResourceVersion: rv, Continue: token}, false, "")
			return next, st, want
		}
	}
	all := map[string]func(state) (state, step, error){
		"last page":  page("8", "", nil),
		"more pages": page("8", "t2", nil),
		"page again": func(s state) (state, step, error) {
			next, st := s.pageListed(metav1.ListMeta{ResourceVersion: "8", Continue: s.token}, false, "")
			return next, st, nil
		},
		"opaque page":   page("x1", "", nil),
		"older page":    page("6", "", errListTooOld),
		"page with no":  page("", "", errNoResourceVersion),
		"pages with no": page("", "t2", errNoResourceVersion),
		"page with objects' alone": func(s state) (state, step, error) {
			next, st := s.pageListed(metav1.ListMeta{}, true, "8")
			return next, st, errNoResourceVersion
		},
	}
	for _, word := range []string{"expired", "gone", "too-large", "too-large-1.17", "timeout", "busy", "refused", "eof", "http2", "unknown", "internal", "store-read", "unauthorized", "forbidden", "not-found", "bad-request", "untrusted"} {
		err := failure(word, 5)
		all[word] = func(s state) (state, step, error) {
			next, st := s.listFailed(err)
			return next, st, err
		}
	}
	return all
}

func watchOutcomes() map[string]func(state) (state, step, error) {
	ended := func(end watchEnd, want error) func(state) (state, step, error) {
		return func(s state) (state, step, error) {
			end.began, end.at, end.unreached = noon.Add(-time.Second), noon, end.err != nil && isUnconnected(end.err)
			if end.rv == "" {
				end.rv = s.rv
			}
			next, st := s.watchEnded(end)
			return next, st, want
		}
	}
	all := map[string]func(state) (state, step, error){
		"closed after events":         ended(watchEnd{rv: "9"}, nil),
		"closed at once after events": ended(watchEnd{rv: "9", short: true}, nil),
		"closed without events":       ended(watchEnd{}, nil),
		"closed at once":              ended(watchEnd{short: true}, ErrShortWatch),
	}
	for _, word := range []string{"expired", "expired-without-code", "gone", "too-large", "too-large-1.17", "timeout", "busy", "unavailable", "refused", "eof", "reset", "http2", "unknown", "unexplained", "internal", "store-read", "unauthorized", "forbidden", "not-found", "bad-request", "untrusted", "out-of-order", "unreadable-delete"} {
		err := failure(word, 5)
		all[word] = ended(watchEnd{short: true, err: err}, err)
		all[word+" after events"] = ended(watchEnd{rv: "9", short: true, err: err}, err)
	}
	for _, word := range []string{"eof", "internal"} {
		err := failure(word, 5)
		all[word+" after a while"] = ended(watchEnd{err: err}, err)
		all[word+" after long"] = ended(watchEnd{steady: true, err: err}, err)
	}
	return all
}

// listSteps gives the step after every outcome of a list in every kind of state, as "outcome
// => next state | step". The words of a step are replace, discard, the reason of a relist,
// report, the kind of pause, reset, and the wait that the server asked for.
var listSteps = []struct {
	name  string
	state state
	want  string
}{
	{"first list", initialState(Tuning{DisableWatchList: true}), `
		last page      => watch 8 | replace
		more pages     => list "0" pages of 8 token t2 paged |
		opaque page    => watch x1 | replace
		page again     => watch 8 | replace
		older page     => watch 6 | replace
		page with no   => watch  unversioned | replace
		expired        => list "" | discard report
		gone           => list "" | discard report
		too-large      => list "" | discard report
		too-large-1.17 => list "" | discard report
		timeout        => list "0" | discard report busy
		busy           => list "0" | discard report busy 5s
		refused        => list "0" | discard report away
		eof            => list "0" | discard report retry
		internal       => list "0" | discard report busy
		forbidden      => list "0" | discard report denied
		not-found      => list "0" | discard report denied
		bad-request    => list "" | discard report denied
		http2          => list "0" | discard report retry
		page with objects' alone => watch 8 unversioned | replace
		pages with no  => list "0" | discard report busy
		store-read     => list "0" | discard report busy
		unauthorized   => list "0" | discard report denied
		unknown        => list "0" | discard report busy
		untrusted      => list "0" | discard report denied`},
	{"first list of a server", state{listRV: "0", learned: learned{server: true}}, `
		last page => watch 8 | replace
		bad-request    => list "" | discard report denied
		busy           => list "0" | discard report busy 5s
		eof            => list "0" | discard report retry
		expired        => list "" | discard report
		forbidden      => list "0" | discard report denied
		gone           => list "" | discard report
		http2          => list "0" | discard report retry
		internal       => list "0" | discard report busy
		more pages     => list "0" pages of 8 token t2 paged |
		not-found      => list "0" | discard report denied
		older page     => watch 6 | replace
		opaque page    => watch x1 | replace
		page again     => watch 8 | replace
		page with no   => poll | replace
		page with objects' alone => poll | replace
		pages with no  => list "0" | discard report busy
		refused        => list "0" | discard report away
		store-read     => list "0" | discard report busy
		timeout        => list "0" | discard report busy
		too-large      => list "" | discard report
		too-large-1.17 => list "" | discard report
		unauthorized   => list "0" | discard report denied
		unknown        => list "0" | discard report busy
		untrusted      => list "0" | discard report denied`},
	{"poll", state{learned: learned{server: true, polled: true, stream: streamSupported}}, `
		last page => watch 8 can | replace
		bad-request    => list "" can | discard report denied
		busy           => list "" can | discard report busy 5s
		eof            => list "" can | discard report retry
		expired        => list "" can | discard report busy
		forbidden      => list "" can | discard report denied
		gone           => list "" can | discard report busy
		http2          => list "" can | discard report retry
		internal       => list "" can | discard report busy
		more pages     => list "" pages of 8 token t2 can |
		not-found      => list "" can | discard report denied
		older page     => watch 6 can | replace
		opaque page    => watch x1 can | replace
		page again     => watch 8 can | replace
		page with no   => poll can | replace
		page with objects' alone => poll can | replace
		pages with no  => list "" can | discard report busy
		refused        => list "" can | discard report away
		store-read     => list "" can | discard report busy
		timeout        => list "" can | discard report busy
		too-large      => list "" can | discard report busy 1s
		too-large-1.17 => list "" can | discard report busy 1s
		unauthorized   => list "" can | discard report denied
		unknown        => list "" can | discard report busy
		untrusted      => list "" can | discard report denied`},
	{"list after barren watches", state{rv: "7", listRV: "7", relisted: true, drought: drought{dry: noon.Add(-2 * time.Minute), barren: noon.Add(-2 * time.Minute), trial: noon.Add(-time.Minute)}, learned: learned{versioned: true, stream: streamSupported}}, `
		last page => watch 8 relisted dry 2m0s can | replace
		bad-request    => watch 7 relisted dry 2m0s barren 1m0s vain 1 can | discard report denied
		busy           => watch 7 relisted dry 2m0s barren 1m0s vain 1 can | discard report busy 5s
		eof            => watch 7 relisted dry 2m0s barren 1m0s vain 1 can | discard report resume
		expired        => list "" seen 7 relisted dry 2m0s trial 1m0s can | discard report
		forbidden      => watch 7 relisted dry 2m0s barren 1m0s vain 1 can | discard report denied
		gone           => list "" seen 7 relisted dry 2m0s trial 1m0s can | discard report
		http2          => watch 7 relisted dry 2m0s barren 1m0s vain 1 can | discard report resume
		internal       => watch 7 relisted dry 2m0s barren 1m0s vain 1 can | discard report busy
		more pages     => list "7" seen 7 pages of 8 token t2 relisted dry 2m0s trial 1m0s can |
		not-found      => watch 7 relisted dry 2m0s barren 1m0s vain 1 can | discard report denied
		older page     => list "" seen 7 relisted dry 2m0s trial 1m0s can | discard report
		opaque page    => watch x1 relisted dry 2m0s can | replace
		page again     => watch 8 relisted dry 2m0s can | replace
		page with no   => watch 7 relisted dry 2m0s barren 1m0s vain 1 can | discard report busy
		page with objects' alone => watch 7 relisted dry 2m0s barren 1m0s vain 1 can | discard report busy
		pages with no  => watch 7 relisted dry 2m0s barren 1m0s vain 1 can | discard report busy
		refused        => watch 7 relisted dry 2m0s barren 1m0s vain 1 can | discard report away
		store-read     => watch 7 relisted dry 2m0s barren 1m0s vain 1 can | discard report busy
		timeout        => watch 7 relisted dry 2m0s barren 1m0s vain 1 can | discard report busy
		too-large      => list "" seen 7 relisted dry 2m0s trial 1m0s can | discard report
		too-large-1.17 => list "" seen 7 relisted dry 2m0s trial 1m0s can | discard report
		unauthorized   => watch 7 relisted dry 2m0s barren 1m0s vain 1 can | discard report denied
		unknown        => watch 7 relisted dry 2m0s barren 1m0s vain 1 can | discard report busy
		untrusted      => watch 7 relisted dry 2m0s barren 1m0s vain 1 can | discard report denied`},
	{"pages of the first list", state{listRV: "0", pageRV: "5", token: "t1", learned: learned{versioned: true}}, `
		last page      => watch 5 | replace
		more pages     => list "0" pages of 5 token t2 paged |
		opaque page    => watch 5 | replace
		page again     => list "0" | discard report busy
		older page     => watch 5 | replace
		page with no   => list "0" | discard report busy
		expired        => list "" unpaged | discard report
		gone           => list "" unpaged | discard report
		too-large      => list "" unpaged | discard report
		too-large-1.17 => list "" unpaged | discard report
		timeout        => list "0" | discard report busy
		busy           => list "0" | discard report busy 5s
		refused        => list "0" | discard report away
		eof            => list "0" | discard report retry
		internal       => list "0" | discard report busy
		forbidden      => list "0" | discard report denied
		not-found      => list "0" | discard report denied
		bad-request    => list "" | discard report denied
		http2          => list "0" | discard report retry
		page with objects' alone => list "0" | discard report busy
		pages with no  => list "0" | discard report busy
		store-read     => list "0" | discard report busy
		unauthorized   => list "0" | discard report denied
		unknown        => list "0" | discard report busy
		untrusted      => list "0" | discard report denied`},
	{"relist at the last version", state{rv: "7", listRV: "7", learned: learned{versioned: true}}, `
		last page      => watch 8 | replace
		more pages     => list "7" seen 7 pages of 8 token t2 |
		opaque page    => watch x1 | replace
		page again     => watch 8 | replace
		older page     => list "" seen 7 | discard report
		page with no   => list "7" seen 7 | discard report busy
		expired        => list "" seen 7 | discard report
		gone           => list "" seen 7 | discard report
		too-large      => list "" seen 7 | discard report
		too-large-1.17 => list "" seen 7 | discard report
		timeout        => list "7" seen 7 | discard report busy
		busy           => list "7" seen 7 | discard report busy 5s
		refused        => list "7" seen 7 | discard report away
		eof            => list "7" seen 7 | discard report retry
		internal       => list "7" seen 7 | discard report busy
		forbidden      => list "7" seen 7 | discard report denied
		not-found      => list "7" seen 7 | discard report denied
		bad-request    => list "" seen 7 | discard report denied
		http2          => list "7" seen 7 | discard report retry
		page with objects' alone => list "7" seen 7 | discard report busy
		pages with no  => list "7" seen 7 | discard report busy
		store-read     => list "7" seen 7 | discard report busy
		unauthorized   => list "7" seen 7 | discard report denied
		unknown        => list "7" seen 7 | discard report busy
		untrusted      => list "7" seen 7 | discard report denied`},
	{"list from storage", state{rv: "7", learned: learned{versioned: true}}, `
		last page      => watch 8 | replace
		more pages     => list "" seen 7 pages of 8 token t2 |
		opaque page    => watch x1 | replace
		page again     => watch 8 | replace
		older page     => watch 6 | replace
		page with no   => list "" seen 7 | discard report busy
		expired        => list "" seen 7 | discard report busy
		gone           => list "" seen 7 | discard report busy
		too-large      => list "" seen 7 | discard report busy 1s
		too-large-1.17 => list "" seen 7 | discard report busy 1s
		timeout        => list "" seen 7 | discard report busy
		busy           => list "" seen 7 | discard report busy 5s
		refused        => list "" seen 7 | discard report away
		eof            => list "" seen 7 | discard report retry
		internal       => list "" seen 7 | discard report busy
		forbidden      => list "" seen 7 | discard report denied
		not-found      => list "" seen 7 | discard report denied
		bad-request    => list "" seen 7 | discard report denied
		http2          => list "" seen 7 | discard report retry
		page with objects' alone => list "" seen 7 | discard report busy
		pages with no  => list "" seen 7 | discard report busy
		store-read     => list "" seen 7 | discard report busy
		unauthorized   => list "" seen 7 | discard report denied
		unknown        => list "" seen 7 | discard report busy
		untrusted      => list "" seen 7 | discard report denied`},
	{"pages from storage", state{rv: "7", pageRV: "8", token: "t1", learned: learned{versioned: true}}, `
		last page      => watch 8 | replace
		more pages     => list "" seen 7 pages of 8 token t2 |
		opaque page    => watch 8 | replace
		page again     => list "" seen 7 | discard report busy
		older page     => list "" seen 7 | discard report busy
		page with no   => list "" seen 7 | discard report busy
		expired        => list "" seen 7 unpaged | discard report
		gone           => list "" seen 7 unpaged | discard report
		too-large      => list "" seen 7 unpaged | discard report
		too-large-1.17 => list "" seen 7 unpaged | discard report
		timeout        => list "" seen 7 | discard report busy
		busy           => list "" seen 7 | discard report busy 5s
		refused        => list "" seen 7 | discard report away
		eof            => list "" seen 7 | discard report retry
		internal       => list "" seen 7 | discard report busy
		forbidden      => list "" seen 7 | discard report denied
		not-found      => list "" seen 7 | discard report denied
		bad-request    => list "" seen 7 | discard report denied
		http2          => list "" seen 7 | discard report retry
		page with objects' alone => list "" seen 7 | discard report busy
		pages with no  => list "" seen 7 | discard report busy
		store-read     => list "" seen 7 | discard report busy
		unauthorized   => list "" seen 7 | discard report denied
		unknown        => list "" seen 7 | discard report busy
		untrusted      => list "" seen 7 | discard report denied`},
	{"whole list", state{rv: "7", unpaged: true, learned: learned{versioned: true}}, `
		last page      => watch 8 | replace
		more pages     => list "" seen 7 unpaged pages of 8 token t2 |
		opaque page    => watch x1 | replace
		page again     => watch 8 | replace
		older page     => watch 6 | replace
		page with no   => list "" seen 7 unpaged | discard report busy
		expired        => list "" seen 7 unpaged | discard report busy
		gone           => list "" seen 7 unpaged | discard report busy
		too-large      => list "" seen 7 unpaged | discard report busy 1s
		too-large-1.17 => list "" seen 7 unpaged | discard report busy 1s
		timeout        => list "" seen 7 unpaged | discard report busy
		busy           => list "" seen 7 unpaged | discard report busy 5s
		refused        => list "" seen 7 unpaged | discard report away
		eof            => list "" seen 7 unpaged | discard report retry
		internal       => list "" seen 7 unpaged | discard report busy
		forbidden      => list "" seen 7 unpaged | discard report denied
		not-found      => list "" seen 7 unpaged | discard report denied
		bad-request    => list "" seen 7 unpaged | discard report denied
		http2          => list "" seen 7 unpaged | discard report retry
		page with objects' alone => list "" seen 7 unpaged | discard report busy
		pages with no  => list "" seen 7 unpaged | discard report busy
		store-read     => list "" seen 7 unpaged | discard report busy
		unauthorized   => list "" seen 7 unpaged | discard report denied
		unknown        => list "" seen 7 unpaged | discard report busy
		untrusted      => list "" seen 7 unpaged | discard report denied`},
	// A server may send pages though none were asked for.
	{"pages of a whole list", state{rv: "7", unpaged: true, pageRV: "8", token: "t1", learned: learned{versioned: true}}, `
		last page      => watch 8 | replace
		more pages     => list "" seen 7 unpaged pages of 8 token t2 |
		opaque page    => watch 8 | replace
		page again     => list "" seen 7 unpaged | discard report busy
		older page     => list "" seen 7 unpaged | discard report busy
		page with no   => list "" seen 7 unpaged | discard report busy
		expired        => list "" seen 7 unpaged | discard report busy
		gone           => list "" seen 7 unpaged | discard report busy
		too-large      => list "" seen 7 unpaged | discard report busy 1s
		too-large-1.17 => list "" seen 7 unpaged | discard report busy 1s
		timeout        => list "" seen 7 unpaged | discard report busy
		busy           => list "" seen 7 unpaged | discard report busy 5s
		refused        => list "" seen 7 unpaged | discard report away
		eof            => list "" seen 7 unpaged | discard report retry
		internal       => list "" seen 7 unpaged | discard report busy
		forbidden      => list "" seen 7 unpaged | discard report denied
		not-found      => list "" seen 7 unpaged | discard report denied
		bad-request    => list "" seen 7 unpaged | discard report denied
		http2          => list "" seen 7 unpaged | discard report retry
		page with objects' alone => list "" seen 7 unpaged | discard report busy
		pages with no  => list "" seen 7 unpaged | discard report busy
		store-read     => list "" seen 7 unpaged | discard report busy
		unauthorized   => list "" seen 7 unpaged | discard report denied
		unknown        => list "" seen 7 unpaged | discard report busy
		untrusted      => list "" seen 7 unpaged | discard report denied`},
}

var watchSteps = []struct {
	name  string
	state state
	want  string
}{
	{"watch", state{phase: phaseWatching, rv: "7", learned: learned{internalRetry: time.Minute, patience: time.Minute, versioned: true}}, `
		closed after events         => watch 9 |
		closed at once after events => watch 9 | end
		closed without events       => watch 7 |
		closed at once              => watch 7 failures 1 dry 0s | report busy
		expired        => list "7" seen 7 relisted dry 0s | expired report
		expired-without-code => list "7" seen 7 relisted dry 0s | expired report
		gone           => list "7" seen 7 relisted dry 0s | expired report
		too-large      => list "" seen 7 relisted dry 0s | too-large report
		too-large-1.17 => list "" seen 7 relisted dry 0s | too-large report
		timeout        => watch 7 dry 0s | report busy
		busy           => watch 7 dry 0s | report busy 5s
		refused        => watch 7 dry 0s | report away
		eof            => watch 7 dry 0s | report resume
		eof after a while => watch 7 dry 0s | report resume
		eof after long    => watch 7 | report resume reset
		internal after a while => watch 7 dry 0s | report busy
		internal after long    => watch 7 | report busy reset
		internal       => watch 7 dry 0s | report busy
		forbidden      => watch 7 dry 0s | report denied
		not-found      => list "7" seen 7 relisted dry 0s | refused report denied
		out-of-order   => list "7" seen 7 relisted dry 0s | order report
		unreadable-delete => list "7" seen 7 relisted dry 0s | unreadable report
		expired after events        => list "9" seen 9 relisted | expired report
		expired-without-code after events => list "9" seen 9 relisted | expired report
		gone after events           => list "9" seen 9 relisted | expired report
		too-large after events      => list "" seen 9 relisted | too-large report
		too-large-1.17 after events => list "" seen 9 relisted | too-large report
		timeout after events        => watch 9 | report busy
		busy after events           => watch 9 | report busy 5s
		refused after events        => watch 9 | report away
		eof after events            => watch 9 | report resume
		internal after events       => watch 9 | report busy
		forbidden after events      => watch 9 | report denied
		not-found after events      => list "9" seen 9 relisted | refused report denied
		out-of-order after events   => list "9" seen 9 relisted | order report
		unreadable-delete after events => list "9" seen 9 relisted | unreadable report
		bad-request    => list "7" seen 7 relisted dry 0s | refused report busy
		bad-request after events => list "9" seen 9 relisted | refused report busy
		http2          => watch 7 dry 0s | report resume
		http2 after events => watch 9 | report resume
		reset          => watch 7 dry 0s | report away
		reset after events => watch 9 | report away
		store-read     => list "7" seen 7 relisted dry 0s | unreadable report busy
		store-read after events => list "9" seen 9 relisted | unreadable report busy
		unauthorized   => watch 7 dry 0s | report denied
		unauthorized after events => watch 9 | report denied
		unknown        => watch 7 dry 0s | report busy
		unknown after events => watch 9 | report busy
		unexplained    => list "7" seen 7 relisted dry 0s | refused report busy
		unexplained after events => list "9" seen 9 relisted | refused report busy
		untrusted      => watch 7 dry 0s | report denied
		untrusted after events => watch 9 | report denied
		unavailable    => watch 7 dry 0s | report busy 5s
		unavailable after events => watch 9 | report busy 5s`},
	{"barren watches", state{phase: phaseWatching, rv: "7", drought: drought{dry: noon.Add(-time.Minute), barren: noon.Add(-time.Minute)}, learned: learned{internalRetry: 2 * time.Minute, patience: time.Minute, versioned: true, stream: streamSupported}}, `
		closed after events => watch 9 can |
		bad-request    => stream "7" seen 7 relisted dry 1m0s can | refused report busy
		bad-request after events => stream "9" seen 9 relisted can | refused report busy
		busy           => watch 7 dry 1m0s can | report busy 5s
		busy after events => watch 9 can | report busy 5s
		closed at once => watch 7 failures 1 dry 1m0s can | report busy
		closed at once after events => watch 9 can | end
		closed without events => watch 7 can |
		eof            => watch 7 dry 1m0s can | report resume
		eof after a while => watch 7 dry 1m0s can | report resume
		eof after events => watch 9 can | report resume
		eof after long => watch 7 can | report resume reset
		expired        => stream "7" seen 7 relisted dry 1m0s can | expired report
		expired after events => stream "9" seen 9 relisted can | expired report
		expired-without-code => stream "7" seen 7 relisted dry 1m0s can | expired report
		expired-without-code after events => stream "9" seen 9 relisted can | expired report
		forbidden      => watch 7 dry 1m0s can | report denied
		forbidden after events => watch 9 can | report denied
		gone           => stream "7" seen 7 relisted dry 1m0s can | expired report
		gone after events => stream "9" seen 9 relisted can | expired report
		http2          => watch 7 dry 1m0s can | report resume
		http2 after events => watch 9 can | report resume
		internal       => watch 7 dry 1m0s can | report busy
		internal after a while => watch 7 dry 1m0s can | report busy
		internal after events => watch 9 can | report busy
		internal after long => watch 7 can | report busy reset
		not-found      => stream "7" seen 7 relisted dry 1m0s can | refused report denied
		not-found after events => stream "9" seen 9 relisted can | refused report denied
		out-of-order   => stream "7" seen 7 relisted dry 1m0s can | order report
		out-of-order after events => stream "9" seen 9 relisted can | order report
		refused        => watch 7 dry 1m0s can | report away
		refused after events => watch 9 can | report away
		reset          => watch 7 dry 1m0s can | report away
		reset after events => watch 9 can | report away
		store-read     => stream "7" seen 7 relisted dry 1m0s can | unreadable report busy
		store-read after events => stream "9" seen 9 relisted can | unreadable report busy
		timeout        => watch 7 dry 1m0s can | report busy
		timeout after events => watch 9 can | report busy
		too-large      => stream "" seen 7 relisted dry 1m0s can | too-large report
		too-large after events => stream "" seen 9 relisted can | too-large report
		too-large-1.17 => stream "" seen 7 relisted dry 1m0s can | too-large report
		too-large-1.17 after events => stream "" seen 9 relisted can | too-large report
		unauthorized   => watch 7 dry 1m0s can | report denied
		unauthorized after events => watch 9 can | report denied
		unavailable    => watch 7 dry 1m0s can | report busy 5s
		unavailable after events => watch 9 can | report busy 5s
		unexplained    => stream "7" seen 7 relisted dry 1m0s can | refused report busy
		unexplained after events => stream "9" seen 9 relisted can | refused report busy
		unknown        => watch 7 dry 1m0s can | report busy
		unknown after events => watch 9 can | report busy
		unreadable-delete => stream "7" seen 7 relisted dry 1m0s can | unreadable report
		unreadable-delete after events => stream "9" seen 9 relisted can | unreadable report
		untrusted      => watch 7 dry 1m0s can | report denied
		untrusted after events => watch 9 can | report denied`},
	{"watch after a list that was no repair", state{phase: phaseWatching, rv: "7", relisted: true, drought: drought{dry: noon.Add(-time.Minute)}, learned: learned{internalRetry: 2 * time.Minute, patience: time.Minute, versioned: true, stream: streamSupported}}, `
		bad-request => list "7" seen 7 relisted dry 1m0s barren 1s by lists can | refused report busy
		bad-request after events => stream "9" seen 9 relisted can | refused report busy
		busy => watch 7 relisted dry 1m0s barren 1s by lists can | report busy 5s
		busy after events => watch 9 can | report busy 5s
		closed after events => watch 9 can |
		closed at once => watch 7 failures 1 relisted dry 1m0s barren 1s by lists can | report busy
		closed at once after events => watch 9 can | end
		closed without events => watch 7 relisted can |
		eof => watch 7 relisted dry 1m0s barren 1s by lists can | report resume
		eof after a while => watch 7 relisted dry 1m0s barren 1s by lists can | report resume
		eof after events => watch 9 can | report resume
		eof after long => watch 7 can | report resume reset
		expired => list "7" seen 7 relisted dry 1m0s barren 1s by lists can | expired report busy
		expired after events => stream "9" seen 9 relisted can | expired report
		expired-without-code => list "7" seen 7 relisted dry 1m0s barren 1s by lists can | expired report busy
		expired-without-code after events => stream "9" seen 9 relisted can | expired report
		forbidden => watch 7 relisted dry 1m0s barren 1s by lists can | report denied
		forbidden after events => watch 9 can | report denied
		gone => list "7" seen 7 relisted dry 1m0s barren 1s by lists can | expired report busy
		gone after events => stream "9" seen 9 relisted can | expired report
		http2 => watch 7 relisted dry 1m0s barren 1s by lists can | report resume
		http2 after events => watch 9 can | report resume
		internal => watch 7 relisted dry 1m0s barren 1s by lists can | report busy
		internal after a while => watch 7 relisted dry 1m0s barren 1s by lists can | report busy
		internal after events => watch 9 can | report busy
		internal after long => watch 7 can | report busy reset
		not-found => list "7" seen 7 relisted dry 1m0s barren 1s by lists can | refused report busy
		not-found after events => stream "9" seen 9 relisted can | refused report denied
		out-of-order => list "7" seen 7 relisted dry 1m0s barren 1s by lists can | order report busy
		out-of-order after events => stream "9" seen 9 relisted can | order report
		refused => watch 7 relisted dry 1m0s barren 1s by lists can | report away
		refused after events => watch 9 can | report away
		reset => watch 7 relisted dry 1m0s barren 1s by lists can | report away
		reset after events => watch 9 can | report away
		store-read => list "7" seen 7 relisted dry 1m0s barren 1s by lists can | unreadable report busy
		store-read after events => stream "9" seen 9 relisted can | unreadable report busy
		timeout => watch 7 relisted dry 1m0s barren 1s by lists can | report busy
		timeout after events => watch 9 can | report busy
		too-large => list "" seen 7 relisted dry 1m0s barren 1s by lists can | too-large report busy 1s
		too-large after events => stream "" seen 9 relisted can | too-large report
		too-large-1.17 => list "" seen 7 relisted dry 1m0s barren 1s by lists can | too-large report busy 1s
		too-large-1.17 after events => stream "" seen 9 relisted can | too-large report
		unauthorized => watch 7 relisted dry 1m0s barren 1s by lists can | report denied
		unauthorized after events => watch 9 can | report denied
		unavailable => watch 7 relisted dry 1m0s barren 1s by lists can | report busy 5s
		unavailable after events => watch 9 can | report busy 5s
		unexplained => list "7" seen 7 relisted dry 1m0s barren 1s by lists can | refused report busy
		unexplained after events => stream "9" seen 9 relisted can | refused report busy
		unknown => watch 7 relisted dry 1m0s barren 1s by lists can | report busy
		unknown after events => watch 9 can | report busy
		unreadable-delete => list "7" seen 7 relisted dry 1m0s barren 1s by lists can | unreadable report busy
		unreadable-delete after events => stream "9" seen 9 relisted can | unreadable report
		untrusted => watch 7 relisted dry 1m0s barren 1s by lists can | report denied
		untrusted after events => watch 9 can | report denied`},
	{"watch after an empty one", state{phase: phaseWatching, rv: "7", failures: maxShortWatches - 1, learned: learned{internalRetry: time.Minute, patience: time.Minute, versioned: true}}, `
		closed after events         => watch 9 |
		closed at once after events => watch 9 | end
		closed without events       => watch 7 |
		closed at once              => list "7" seen 7 relisted dry 0s | failing report busy
		expired        => list "7" seen 7 relisted dry 0s | expired report
		expired-without-code => list "7" seen 7 relisted dry 0s | expired report
		gone           => list "7" seen 7 relisted dry 0s | expired report
		too-large      => list "" seen 7 relisted dry 0s | too-large report
		too-large-1.17 => list "" seen 7 relisted dry 0s | too-large report
		timeout        => watch 7 dry 0s | report busy
		busy           => watch 7 dry 0s | report busy 5s
		refused        => watch 7 dry 0s | report away
		eof            => watch 7 dry 0s | report resume
		eof after a while => watch 7 dry 0s | report resume
		eof after long    => watch 7 | report resume reset
		internal after a while => watch 7 dry 0s | report busy
		internal after long    => watch 7 | report busy reset
		internal       => watch 7 dry 0s | report busy
		forbidden      => watch 7 dry 0s | report denied
		not-found      => list "7" seen 7 relisted dry 0s | refused report denied
		out-of-order   => list "7" seen 7 relisted dry 0s | order report
		unreadable-delete => list "7" seen 7 relisted dry 0s | unreadable report
		expired after events        => list "9" seen 9 relisted | expired report
		expired-without-code after events => list "9" seen 9 relisted | expired report
		gone after events           => list "9" seen 9 relisted | expired report
		too-large after events      => list "" seen 9 relisted | too-large report
		too-large-1.17 after events => list "" seen 9 relisted | too-large report
		timeout after events        => watch 9 | report busy
		busy after events           => watch 9 | report busy 5s
		refused after events        => watch 9 | report away
		eof after events            => watch 9 | report resume
		internal after events       => watch 9 | report busy
		forbidden after events      => watch 9 | report denied
		not-found after events      => list "9" seen 9 relisted | refused report denied
		out-of-order after events   => list "9" seen 9 relisted | order report
		unreadable-delete after events => list "9" seen 9 relisted | unreadable report
		bad-request    => list "7" seen 7 relisted dry 0s | refused report busy
		bad-request after events => list "9" seen 9 relisted | refused report busy
		http2          => watch 7 dry 0s | report resume
		http2 after events => watch 9 | report resume
		reset          => watch 7 dry 0s | report away
		reset after events => watch 9 | report away
		store-read     => list "7" seen 7 relisted dry 0s | unreadable report busy
		store-read after events => list "9" seen 9 relisted | unreadable report busy
		unauthorized   => watch 7 dry 0s | report denied
		unauthorized after events => watch 9 | report denied
		unknown        => watch 7 dry 0s | report busy
		unknown after events => watch 9 | report busy
		unexplained    => list "7" seen 7 relisted dry 0s | refused report busy
		unexplained after events => list "9" seen 9 relisted | refused report busy
		untrusted      => watch 7 dry 0s | report denied
		untrusted after events => watch 9 | report denied
		unavailable    => watch 7 dry 0s | report busy 5s
		unavailable after events => watch 9 | report busy 5s`},
}

func TestListSteps(t *testing.T) {
	for _, c := range listSteps {
		t.Run(c.name, func(t *testing.T) { checkSteps(t, c.state, listOutcomes(), c.want) })
	}
}

func TestWatchSteps(t *testing.T) {
	for _, c := range watchSteps {
		t.Run(c.name, func(t *testing.T) { checkSteps(t, c.state, watchOutcomes(), c.want) })
	}
}

// checkSteps fails for a wrong step, and for an outcome that the table leaves out.
func checkSteps(t *testing.T, from state, outcomes map[string]func(state) (state, step, error), want string) {
	t.Helper()
	var got []string
	for name, outcome := range outcomes {
		next, st, wantErr := outcome(from)
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s => %s | %s", name, next.text(), st.text())))
		if st.err != nil && !errors.Is(st.err, wantErr) && !errors.Is(st.err, errBadPage) {
			t.Errorf("%s reports %v, want %v", name, st.err, wantErr)
		}
	}
	var lines []string
	for line := range strings.Lines(want) {
		if name, rest, ok := strings.Cut(line, "=>"); ok {
			lines = append(lines, strings.TrimSpace(name)+" => "+strings.TrimSpace(rest))
		}
	}
	slices.Sort(got)
	slices.Sort(lines)
	if diff := cmp.Diff(lines, got); diff != "" {
		t.Errorf("from %s (-want +got):\n%s", from.text(), diff)
	}
}

func TestOlder(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"9", "10", true},
		{"10", "9", false},
		{"7", "7", false},
		{"18446744073709551616", "18446744073709551617", true}, // more than 64 bits
		{"0", "7", false}, // not a version of any object
		{"", "7", false},
		{"x1", "x2", false},
		{"007", "8", false},
		{"7", "", false},
	} {
		if got := isOlder(c.a, c.b); got != c.want {
			t.Errorf("older(%q, %q) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// FuzzNewest: the version to watch from next is one of the two given, and never older
// than what was seen, whatever a server sends.
func FuzzNewest(f *testing.F) {
	f.Add("7", "8")
	f.Add("10", "9")
	f.Add("7", "")
	f.Add("7", "x")
	f.Fuzz(func(t *testing.T, seen, rv string) {
		got := newest(seen, rv)
		if got != seen && got != rv {
			t.Fatalf("newest(%q, %q) = %q is neither", seen, rv, got)
		}
		if isOlder(got, seen) || seen != "" && got == "" {
			t.Fatalf("newest(%q, %q) = %q went back", seen, rv, got)
		}
	})
}
