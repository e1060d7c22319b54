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
	case watching:
		fmt.Fprintf(&b, "watch %s", s.rv)
	case streaming:
		fmt.Fprintf(&b, "stream %q", s.version())
	case listing:
		fmt.Fprintf(&b, "list %q", s.listRV)
	}
	if s.phase != watching && s.rv != "" {
		fmt.Fprintf(&b, " seen %s", s.rv)
	}
	if s.whole {
		b.WriteString(" whole")
	}
	if s.pageRV != "" || s.token != "" {
		fmt.Fprintf(&b, " pages of %s token %s", s.pageRV, s.token)
	}
	if s.failures != 0 {
		fmt.Fprintf(&b, " failures %d", s.failures)
	}
	if !s.internal.IsZero() {
		fmt.Fprintf(&b, " internal %v", noon.Sub(s.internal))
	}
	switch s.stream {
	case mayBe:
		b.WriteString(" maybe")
	case can:
		b.WriteString(" can")
	}
	if s.paged {
		b.WriteString(" paged")
	}
	if s.phase == watching && s.listRV != "" {
		fmt.Fprintf(&b, " LEFTOVER listRV %q", s.listRV)
	}
	return b.String()
}

var reasons = [relistReasons]string{"", "expired", "too-large", "order", "unreadable", "refused", "failing"}

func (st step) text() string {
	var words []string
	add := func(on bool, word string) {
		if on {
			words = append(words, word)
		}
	}
	add(st.replace, "replace")
	add(st.discard, "discard")
	add(st.relist != notAtAll, reasons[st.relist])
	add(st.err != nil, "report")
	add(st.backoff, "backoff")
	add(st.afresh, "afresh")
	add(st.atLeast != 0, st.atLeast.String())
	return strings.Join(words, " ")
}

// listOutcomes and watchOutcomes are every kind of outcome that a request can have. Each
// returns what followed from it and the error that should be reported.
func listOutcomes() map[string]func(state) (state, step, error) {
	page := func(rv, token string, want error) func(state) (state, step, error) {
		return func(s state) (state, step, error) {
			next, st := s.pageListed(metav1.ListMeta{ResourceVersion: rv, Continue: token})
			return next, st, want
		}
	}
	all := map[string]func(state) (state, step, error){
		"last page":  page("8", "", nil),
		"more pages": page("8", "t2", nil),
		"page again": func(s state) (state, step, error) {
			next, st := s.pageListed(metav1.ListMeta{ResourceVersion: "8", Continue: s.token})
			return next, st, nil
		},
		"opaque page":  page("x1", "", nil),
		"older page":   page("6", "", ErrListTooOld),
		"page with no": page("", "", ErrNoResourceVersion),
	}
	for _, word := range []string{"expired", "gone", "too-large", "too-large-1.17", "timeout", "busy", "refused", "eof", "internal", "forbidden", "not-found", "bad-request"} {
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
			end.at = noon
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
	for _, word := range []string{"expired", "expired-without-code", "gone", "too-large", "too-large-1.17", "timeout", "busy", "refused", "eof", "internal", "forbidden", "not-found", "out-of-order", "unreadable-delete"} {
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

// listSteps says what follows from every outcome of a list in every kind of state, as
// "outcome => next state | step". Words of a step: replace, discard, report, backoff and
// the wait that the server asked for.
var listSteps = []struct {
	name  string
	state state
	want  string
}{
	{"first list", start(Options{DisableWatchList: true}), `
		last page      => watch 8 | replace
		more pages     => list "0" pages of 8 token t2 paged |
		opaque page    => watch x1 | replace
		page again     => watch 8 | replace
		older page     => watch 6 | replace
		page with no   => list "0" | discard report backoff
		expired        => list "" | discard report
		gone           => list "" | discard report
		too-large      => list "" | discard report
		too-large-1.17 => list "" | discard report
		timeout        => list "0" | discard report backoff
		busy           => list "0" | discard report backoff 5s
		refused        => list "0" | discard report backoff
		eof            => list "0" | discard report backoff
		internal       => list "0" | discard report backoff
		forbidden      => list "0" | discard report backoff
		not-found      => list "0" | discard report backoff
		bad-request    => list "" | discard report backoff`},
	{"pages of the first list", state{listRV: "0", pageRV: "5", token: "t1"}, `
		last page      => watch 5 | replace
		more pages     => list "0" pages of 5 token t2 paged |
		opaque page    => watch 5 | replace
		page again     => list "0" | discard report backoff
		older page     => watch 5 | replace
		page with no   => list "0" | discard report backoff
		expired        => list "" whole | discard report
		gone           => list "" whole | discard report
		too-large      => list "" whole | discard report
		too-large-1.17 => list "" whole | discard report
		timeout        => list "0" | discard report backoff
		busy           => list "0" | discard report backoff 5s
		refused        => list "0" | discard report backoff
		eof            => list "0" | discard report backoff
		internal       => list "0" | discard report backoff
		forbidden      => list "0" | discard report backoff
		not-found      => list "0" | discard report backoff
		bad-request    => list "" | discard report backoff`},
	{"relist at the last version", state{rv: "7", listRV: "7"}, `
		last page      => watch 8 | replace
		more pages     => list "7" seen 7 pages of 8 token t2 |
		opaque page    => watch x1 | replace
		page again     => watch 8 | replace
		older page     => list "" seen 7 | discard report
		page with no   => list "7" seen 7 | discard report backoff
		expired        => list "" seen 7 | discard report
		gone           => list "" seen 7 | discard report
		too-large      => list "" seen 7 | discard report
		too-large-1.17 => list "" seen 7 | discard report
		timeout        => list "7" seen 7 | discard report backoff
		busy           => list "7" seen 7 | discard report backoff 5s
		refused        => list "7" seen 7 | discard report backoff
		eof            => list "7" seen 7 | discard report backoff
		internal       => list "7" seen 7 | discard report backoff
		forbidden      => list "7" seen 7 | discard report backoff
		not-found      => list "7" seen 7 | discard report backoff
		bad-request    => list "" seen 7 | discard report backoff`},
	{"list from storage", state{rv: "7"}, `
		last page      => watch 8 | replace
		more pages     => list "" seen 7 pages of 8 token t2 |
		opaque page    => watch x1 | replace
		page again     => watch 8 | replace
		older page     => watch 6 | replace
		page with no   => list "" seen 7 | discard report backoff
		expired        => list "" seen 7 | discard report backoff
		gone           => list "" seen 7 | discard report backoff
		too-large      => list "" seen 7 | discard report backoff 1s
		too-large-1.17 => list "" seen 7 | discard report backoff 1s
		timeout        => list "" seen 7 | discard report backoff
		busy           => list "" seen 7 | discard report backoff 5s
		refused        => list "" seen 7 | discard report backoff
		eof            => list "" seen 7 | discard report backoff
		internal       => list "" seen 7 | discard report backoff
		forbidden      => list "" seen 7 | discard report backoff
		not-found      => list "" seen 7 | discard report backoff
		bad-request    => list "" seen 7 | discard report backoff`},
	{"pages from storage", state{rv: "7", pageRV: "8", token: "t1"}, `
		last page      => watch 8 | replace
		more pages     => list "" seen 7 pages of 8 token t2 |
		opaque page    => watch 8 | replace
		page again     => list "" seen 7 | discard report backoff
		older page     => list "" seen 7 | discard report backoff
		page with no   => list "" seen 7 | discard report backoff
		expired        => list "" seen 7 whole | discard report
		gone           => list "" seen 7 whole | discard report
		too-large      => list "" seen 7 whole | discard report
		too-large-1.17 => list "" seen 7 whole | discard report
		timeout        => list "" seen 7 | discard report backoff
		busy           => list "" seen 7 | discard report backoff 5s
		refused        => list "" seen 7 | discard report backoff
		eof            => list "" seen 7 | discard report backoff
		internal       => list "" seen 7 | discard report backoff
		forbidden      => list "" seen 7 | discard report backoff
		not-found      => list "" seen 7 | discard report backoff
		bad-request    => list "" seen 7 | discard report backoff`},
	{"whole list", state{rv: "7", whole: true}, `
		last page      => watch 8 | replace
		more pages     => list "" seen 7 whole pages of 8 token t2 |
		opaque page    => watch x1 | replace
		page again     => watch 8 | replace
		older page     => watch 6 | replace
		page with no   => list "" seen 7 whole | discard report backoff
		expired        => list "" seen 7 whole | discard report backoff
		gone           => list "" seen 7 whole | discard report backoff
		too-large      => list "" seen 7 whole | discard report backoff 1s
		too-large-1.17 => list "" seen 7 whole | discard report backoff 1s
		timeout        => list "" seen 7 whole | discard report backoff
		busy           => list "" seen 7 whole | discard report backoff 5s
		refused        => list "" seen 7 whole | discard report backoff
		eof            => list "" seen 7 whole | discard report backoff
		internal       => list "" seen 7 whole | discard report backoff
		forbidden      => list "" seen 7 whole | discard report backoff
		not-found      => list "" seen 7 whole | discard report backoff
		bad-request    => list "" seen 7 whole | discard report backoff`},
	// A server may send pages though none were asked for.
	{"pages of a whole list", state{rv: "7", whole: true, pageRV: "8", token: "t1"}, `
		last page      => watch 8 | replace
		more pages     => list "" seen 7 whole pages of 8 token t2 |
		opaque page    => watch 8 | replace
		page again     => list "" seen 7 whole | discard report backoff
		older page     => list "" seen 7 whole | discard report backoff
		page with no   => list "" seen 7 whole | discard report backoff
		expired        => list "" seen 7 whole | discard report backoff
		gone           => list "" seen 7 whole | discard report backoff
		too-large      => list "" seen 7 whole | discard report backoff 1s
		too-large-1.17 => list "" seen 7 whole | discard report backoff 1s
		timeout        => list "" seen 7 whole | discard report backoff
		busy           => list "" seen 7 whole | discard report backoff 5s
		refused        => list "" seen 7 whole | discard report backoff
		eof            => list "" seen 7 whole | discard report backoff
		internal       => list "" seen 7 whole | discard report backoff
		forbidden      => list "" seen 7 whole | discard report backoff
		not-found      => list "" seen 7 whole | discard report backoff
		bad-request    => list "" seen 7 whole | discard report backoff`},
}

var watchSteps = []struct {
	name  string
	state state
	want  string
}{
	{"watch", state{phase: watching, rv: "7", memory: memory{internalFor: time.Minute}}, `
		closed after events         => watch 9 |
		closed at once after events => watch 9 |
		closed without events       => watch 7 |
		closed at once              => watch 7 failures 1 | report backoff
		expired        => list "7" seen 7 | expired report backoff
		expired-without-code => list "7" seen 7 | expired report backoff
		gone           => list "7" seen 7 | expired report backoff
		too-large      => list "" seen 7 | too-large report backoff 1s
		too-large-1.17 => list "" seen 7 | too-large report backoff 1s
		timeout        => watch 7 failures 1 | report backoff
		busy           => watch 7 | report backoff 5s
		refused        => watch 7 | report backoff
		eof            => watch 7 failures 1 | report backoff
		eof after a while => watch 7 | report backoff
		eof after long    => watch 7 | report backoff afresh
		internal after a while => watch 7 internal 0s | report backoff
		internal after long    => watch 7 internal 0s | report backoff afresh
		internal       => watch 7 internal 0s | report backoff
		forbidden      => list "7" seen 7 | refused report backoff
		not-found      => list "7" seen 7 | refused report backoff
		out-of-order   => list "7" seen 7 | order report backoff
		unreadable-delete => list "7" seen 7 | unreadable report backoff
		expired after events        => list "9" seen 9 | expired report backoff
		expired-without-code after events => list "9" seen 9 | expired report backoff
		gone after events           => list "9" seen 9 | expired report backoff
		too-large after events      => list "" seen 9 | too-large report backoff 1s
		too-large-1.17 after events => list "" seen 9 | too-large report backoff 1s
		timeout after events        => watch 9 failures 1 | report backoff
		busy after events           => watch 9 | report backoff 5s
		refused after events        => watch 9 | report backoff
		eof after events            => watch 9 failures 1 | report backoff
		internal after events       => watch 9 internal 0s | report backoff
		forbidden after events      => list "9" seen 9 | refused report backoff
		not-found after events      => list "9" seen 9 | refused report backoff
		out-of-order after events   => list "9" seen 9 | order report backoff
		unreadable-delete after events => list "9" seen 9 | unreadable report backoff`},
	{"watch after four failures", state{phase: watching, rv: "7", failures: maxWatchFailures - 1, memory: memory{internalFor: time.Minute}}, `
		closed after events         => watch 9 |
		closed at once after events => watch 9 |
		closed without events       => watch 7 |
		closed at once              => list "7" seen 7 | failing report backoff
		expired        => list "7" seen 7 | expired report backoff
		expired-without-code => list "7" seen 7 | expired report backoff
		gone           => list "7" seen 7 | expired report backoff
		too-large      => list "" seen 7 | too-large report backoff 1s
		too-large-1.17 => list "" seen 7 | too-large report backoff 1s
		timeout        => list "7" seen 7 | failing report backoff
		busy           => watch 7 failures 4 | report backoff 5s
		refused        => watch 7 failures 4 | report backoff
		eof            => list "7" seen 7 | failing report backoff
		eof after a while => watch 7 failures 4 | report backoff
		eof after long    => watch 7 failures 4 | report backoff afresh
		internal after a while => watch 7 failures 4 internal 0s | report backoff
		internal after long    => watch 7 failures 4 internal 0s | report backoff afresh
		internal       => watch 7 failures 4 internal 0s | report backoff
		forbidden      => list "7" seen 7 | refused report backoff
		not-found      => list "7" seen 7 | refused report backoff
		out-of-order   => list "7" seen 7 | order report backoff
		unreadable-delete => list "7" seen 7 | unreadable report backoff
		expired after events        => list "9" seen 9 | expired report backoff
		expired-without-code after events => list "9" seen 9 | expired report backoff
		gone after events           => list "9" seen 9 | expired report backoff
		too-large after events      => list "" seen 9 | too-large report backoff 1s
		too-large-1.17 after events => list "" seen 9 | too-large report backoff 1s
		timeout after events        => watch 9 failures 1 | report backoff
		busy after events           => watch 9 | report backoff 5s
		refused after events        => watch 9 | report backoff
		eof after events            => watch 9 failures 1 | report backoff
		internal after events       => watch 9 internal 0s | report backoff
		forbidden after events      => list "9" seen 9 | refused report backoff
		not-found after events      => list "9" seen 9 | refused report backoff
		out-of-order after events   => list "9" seen 9 | order report backoff
		unreadable-delete after events => list "9" seen 9 | unreadable report backoff`},
	{"watch after a minute of internal errors", state{phase: watching, rv: "7", internal: noon.Add(-time.Minute), memory: memory{internalFor: time.Minute}}, `
		closed after events         => watch 9 |
		closed at once after events => watch 9 |
		closed without events       => watch 7 |
		closed at once              => watch 7 failures 1 | report backoff
		expired        => list "7" seen 7 | expired report backoff
		expired-without-code => list "7" seen 7 | expired report backoff
		gone           => list "7" seen 7 | expired report backoff
		too-large      => list "" seen 7 | too-large report backoff 1s
		too-large-1.17 => list "" seen 7 | too-large report backoff 1s
		timeout        => watch 7 failures 1 internal 1m0s | report backoff
		busy           => watch 7 internal 1m0s | report backoff 5s
		refused        => watch 7 internal 1m0s | report backoff
		eof            => watch 7 failures 1 internal 1m0s | report backoff
		eof after a while => watch 7 internal 1m0s | report backoff
		eof after long    => watch 7 | report backoff afresh
		internal after a while => list "7" seen 7 | failing report backoff
		internal after long    => watch 7 internal 0s | report backoff afresh
		internal       => list "7" seen 7 | failing report backoff
		forbidden      => list "7" seen 7 | refused report backoff
		not-found      => list "7" seen 7 | refused report backoff
		out-of-order   => list "7" seen 7 | order report backoff
		unreadable-delete => list "7" seen 7 | unreadable report backoff
		expired after events        => list "9" seen 9 | expired report backoff
		expired-without-code after events => list "9" seen 9 | expired report backoff
		gone after events           => list "9" seen 9 | expired report backoff
		too-large after events      => list "" seen 9 | too-large report backoff 1s
		too-large-1.17 after events => list "" seen 9 | too-large report backoff 1s
		timeout after events        => watch 9 failures 1 | report backoff
		busy after events           => watch 9 | report backoff 5s
		refused after events        => watch 9 | report backoff
		eof after events            => watch 9 failures 1 | report backoff
		internal after events       => watch 9 internal 0s | report backoff
		forbidden after events      => list "9" seen 9 | refused report backoff
		not-found after events      => list "9" seen 9 | refused report backoff
		out-of-order after events   => list "9" seen 9 | order report backoff
		unreadable-delete after events => list "9" seen 9 | unreadable report backoff`},
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
		if st.err != nil && !errors.Is(st.err, wantErr) && !errors.Is(st.err, ErrBadPage) {
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

func TestClassifyErrors(t *testing.T) {
	type class struct{ Expired, TooLarge, Client, Busy bool }
	want := map[string]class{
		"expired":              {Expired: true, Client: true},
		"gone":                 {Expired: true, Client: true},
		"expired-without-code": {Expired: true},
		"mentions-too-large":   {},
		"too-large":            {TooLarge: true},
		"too-large-1.17":       {TooLarge: true},
		"timeout":              {},
		"busy":                 {Busy: true},
		"refused":              {Busy: true},
		"eof":                  {},
		"internal":             {},
		"forbidden":            {Client: true},
		"unauthorized":         {Client: true},
		"not-found":            {Client: true},
		"bad-request":          {Client: true},
		"out-of-order":         {},
	}
	for word, want := range want {
		err := failure(word, 0)
		got := class{isExpired(err), isTooLarge(err), isClientError(err), isBusy(err)}
		if got != want {
			t.Errorf("%s: %+v, want %+v", word, got, want)
		}
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
		if got := older(c.a, c.b); got != c.want {
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
		if older(got, seen) || seen != "" && got == "" {
			t.Fatalf("newest(%q, %q) = %q went back", seen, rv, got)
		}
	})
}
