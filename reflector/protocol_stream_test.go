package reflector

import (
	"errors"
	"testing"
	"time"
)

// streamOutcomes are every kind of outcome that a streaming list can have.
func streamOutcomes() map[string]func(state) (state, step, error) {
	listed := func(rv string, want error) func(state) (state, step, error) {
		return func(s state) (state, step, error) {
			next, st := s.streamListed(rv, "")
			return next, st, want
		}
	}
	failed := func(end watchEnd, want error) func(state) (state, step, error) {
		return func(s state) (state, step, error) {
			end.at, end.unreached = noon, end.err != nil && isUnconnected(end.err)
			next, st := s.streamFailed(end)
			return next, st, want
		}
	}
	all := map[string]func(state) (state, step, error){
		"end":         listed("8", nil),
		"opaque end":  listed("x1", nil),
		"older end":   listed("6", errListTooOld),
		"end with no": listed("", errNoResourceVersion),
		"closed":      failed(watchEnd{}, errNoInitialEventsEnd),
		"closed late": failed(watchEnd{steady: true}, errNoInitialEventsEnd),
		"silent":      failed(watchEnd{ignored: true}, errNoInitialEventsEnd),
		"ignored":     failed(watchEnd{ignored: true, heard: true, err: errNoInitialEventsEnd}, errNoInitialEventsEnd),
		"unsupported": failed(watchEnd{err: errors.ErrUnsupported}, nil),
	}
	for _, word := range []string{"eof", "unknown"} {
		err := failure(word, 0)
		all[word+" in the middle"] = failed(watchEnd{heard: true, err: err}, err)
	}
	for _, word := range []string{"eof", "internal"} {
		err := failure(word, 0)
		all[word+" late"] = failed(watchEnd{steady: true, err: err}, err)
	}
	for _, word := range []string{
		"expired", "gone", "too-large", "too-large-1.17", "timeout", "busy", "refused", "reset", "unanswered", "eof", "internal", "unavailable", "unexplained",
		"unauthorized", "forbidden", "not-found", "bad-request", "invalid", "method-not-allowed", "not-implemented", "unreadable-delete",
		"unusable", "unknown", "http2", "untrusted",
	} {
		err := failure(word, 5)
		all[word] = failed(watchEnd{short: true, err: err}, err)
	}
	return all
}

var streamSteps = []struct {
	name  string
	state state
	want  string
}{
	{"first list", initialState(Tuning{Backoff: Backoff{Max: time.Minute}}), `
		end            => watch 8 can | replace
		opaque end     => watch x1 can | replace
		older end      => watch 6 can | replace
		end with no    => watch  unversioned can | replace
		closed         => stream "" failures 1 maybe | discard report retry
		closed late    => list "0" maybe | discard report retry reset
		silent         => list "0" | discard report
		unsupported    => list "0" | discard
		eof            => stream "" failures 1 maybe | discard report retry
		eof late       => list "0" maybe | discard report retry reset
		expired        => stream "" failures 1 maybe | discard report busy
		gone           => stream "" failures 1 maybe | discard report busy
		too-large      => list "0" maybe | discard report busy 1s
		too-large-1.17 => list "0" maybe | discard report busy 1s
		timeout        => list "0" maybe | discard report
		busy           => stream "" dry 0s maybe | discard report busy 5s
		refused        => stream "" maybe | discard report away
		internal       => list "0" maybe | discard report
		internal late  => list "0" maybe | discard report
		unavailable    => list "0" maybe | discard report busy 5s
		unauthorized   => list "0" maybe | discard
		forbidden      => list "0" maybe | discard
		not-found      => list "0" maybe | discard
		bad-request    => list "0" no | discard
		invalid        => list "0" no | discard
		method-not-allowed => list "0" no | discard
		not-implemented    => list "0" no | discard report
		unreadable-delete  => list "0" maybe | discard report
		unusable           => list "0" maybe | discard report
		eof in the middle => stream "" failures 1 maybe | discard report retry
		http2          => stream "" failures 1 maybe | discard report retry
		unknown        => list "0" maybe | discard report
		unknown in the middle => stream "" failures 1 maybe | discard report busy
		untrusted      => stream "" failures 1 maybe | discard report retry
		ignored        => list "0" no | discard report
		reset          => stream "" failures 1 maybe | discard report away
		unanswered     => stream "" failures 1 maybe | discard report away
		unexplained    => list "0" maybe | discard report`},
	{"busy for long", state{phase: phaseStreaming, listRV: "0", drought: drought{dry: noon.Add(-time.Minute), barren: noon.Add(-time.Minute)}, learned: learned{stream: streamUnknown, patience: time.Minute}}, `
		bad-request => list "0" dry 1m0s no | discard
		busy => list "0" dry 1m0s maybe | discard report busy 5s
		closed => stream "" failures 1 dry 1m0s maybe | discard report retry
		closed late => list "0" dry 1m0s maybe | discard report retry reset
		end => watch 8 dry 1m0s can | replace
		end with no => watch  dry 1m0s unversioned can | replace
		eof => stream "" failures 1 dry 1m0s maybe | discard report retry
		eof in the middle => stream "" failures 1 dry 1m0s maybe | discard report retry
		eof late => list "0" dry 1m0s maybe | discard report retry reset
		expired => stream "" failures 1 dry 1m0s maybe | discard report busy
		forbidden => list "0" dry 1m0s maybe | discard
		gone => stream "" failures 1 dry 1m0s maybe | discard report busy
		http2 => stream "" failures 1 dry 1m0s maybe | discard report retry
		ignored => list "0" dry 1m0s no | discard report
		internal => list "0" dry 1m0s maybe | discard report
		internal late => list "0" dry 1m0s maybe | discard report
		invalid => list "0" dry 1m0s no | discard
		method-not-allowed => list "0" dry 1m0s no | discard
		not-found => list "0" dry 1m0s maybe | discard
		not-implemented => list "0" dry 1m0s no | discard report
		older end => watch 6 dry 1m0s can | replace
		opaque end => watch x1 dry 1m0s can | replace
		refused => stream "" dry 1m0s maybe | discard report away
		reset => stream "" failures 1 dry 1m0s maybe | discard report away
		silent => list "0" dry 1m0s | discard report
		timeout => list "0" dry 1m0s maybe | discard report
		too-large => list "0" dry 1m0s maybe | discard report busy 1s
		too-large-1.17 => list "0" dry 1m0s maybe | discard report busy 1s
		unanswered => stream "" failures 1 dry 1m0s maybe | discard report away
		unauthorized => list "0" dry 1m0s maybe | discard
		unavailable => list "0" dry 1m0s maybe | discard report busy 5s
		unexplained => list "0" dry 1m0s maybe | discard report
		unknown => list "0" dry 1m0s maybe | discard report
		unknown in the middle => stream "" failures 1 dry 1m0s maybe | discard report busy
		unreadable-delete => list "0" dry 1m0s maybe | discard report
		unsupported => list "0" dry 1m0s | discard
		untrusted => stream "" failures 1 dry 1m0s maybe | discard report retry
		unusable => list "0" dry 1m0s maybe | discard report`},
	{"after a failure", state{phase: phaseStreaming, listRV: "0", failures: 1, learned: learned{stream: streamUnknown, patience: time.Minute}}, `
		end            => watch 8 can | replace
		opaque end     => watch x1 can | replace
		older end      => watch 6 can | replace
		end with no    => watch  unversioned can | replace
		closed         => list "0" maybe | discard report retry
		closed late    => list "0" maybe | discard report retry reset
		silent         => list "0" | discard report
		unsupported    => list "0" | discard
		eof            => list "0" maybe | discard report retry
		eof late       => list "0" maybe | discard report retry reset
		expired        => list "0" maybe | discard report busy
		gone           => list "0" maybe | discard report busy
		too-large      => list "0" maybe | discard report busy 1s
		too-large-1.17 => list "0" maybe | discard report busy 1s
		timeout        => list "0" maybe | discard report
		busy           => stream "" failures 1 dry 0s maybe | discard report busy 5s
		refused        => stream "" failures 1 maybe | discard report away
		internal       => list "0" maybe | discard report
		internal late  => list "0" maybe | discard report
		unavailable    => list "0" maybe | discard report busy 5s
		unauthorized   => list "0" maybe | discard
		forbidden      => list "0" maybe | discard
		not-found      => list "0" maybe | discard
		bad-request    => list "0" no | discard
		invalid        => list "0" no | discard
		method-not-allowed => list "0" no | discard
		not-implemented    => list "0" no | discard report
		unreadable-delete  => list "0" maybe | discard report
		unusable           => list "0" maybe | discard report
		eof in the middle => list "0" maybe | discard report retry
		http2          => list "0" maybe | discard report retry
		unknown        => list "0" maybe | discard report
		unknown in the middle => list "0" maybe | discard report busy
		untrusted      => list "0" maybe | discard report retry
		ignored        => list "0" no | discard report
		reset          => list "0" maybe | discard report away
		unanswered     => list "0" maybe | discard report away
		unexplained    => list "0" maybe | discard report`},
	// A server that streamed once is asked again, whatever another one says.
	{"relist at the last version", state{phase: phaseStreaming, rv: "7", listRV: "7", learned: learned{stream: streamSupported, versioned: true, patience: time.Minute}}, `
		end            => watch 8 can | replace
		opaque end     => watch x1 can | replace
		older end      => stream "" seen 7 can | discard report
		end with no    => list "7" seen 7 can | discard report busy
		closed         => stream "7" seen 7 failures 1 can | discard report retry
		closed late    => list "7" seen 7 can | discard report retry reset
		silent         => list "7" seen 7 maybe | discard report
		unsupported    => list "7" seen 7 | discard
		eof            => stream "7" seen 7 failures 1 can | discard report retry
		eof late       => list "7" seen 7 can | discard report retry reset
		expired        => stream "" seen 7 can | discard report
		gone           => stream "" seen 7 can | discard report
		too-large      => stream "" seen 7 can | discard report
		too-large-1.17 => stream "" seen 7 can | discard report
		timeout        => list "7" seen 7 can | discard report
		busy           => stream "7" seen 7 dry 0s can | discard report busy 5s
		refused        => stream "7" seen 7 can | discard report away
		internal       => list "7" seen 7 can | discard report
		internal late  => list "7" seen 7 can | discard report
		unavailable    => list "7" seen 7 can | discard report busy 5s
		unauthorized   => list "7" seen 7 can | discard
		forbidden      => list "7" seen 7 can | discard
		not-found      => list "7" seen 7 can | discard
		bad-request    => list "7" seen 7 can | discard
		invalid        => list "7" seen 7 can | discard
		method-not-allowed => list "7" seen 7 can | discard
		not-implemented    => list "7" seen 7 can | discard report
		unreadable-delete  => list "7" seen 7 can | discard report
		unusable           => list "7" seen 7 can | discard report
		eof in the middle => stream "7" seen 7 failures 1 can | discard report retry
		http2          => stream "7" seen 7 failures 1 can | discard report retry
		unknown        => list "7" seen 7 can | discard report
		unknown in the middle => stream "7" seen 7 failures 1 can | discard report busy
		untrusted      => stream "7" seen 7 failures 1 can | discard report retry
		ignored        => list "7" seen 7 can | discard report
		reset          => stream "7" seen 7 failures 1 can | discard report away
		unanswered     => stream "7" seen 7 failures 1 can | discard report away
		unexplained    => list "7" seen 7 can | discard report`},
	{"relist at the newest", state{phase: phaseStreaming, rv: "7", learned: learned{stream: streamSupported, versioned: true, patience: time.Minute}}, `
		end            => watch 8 can | replace
		opaque end     => watch x1 can | replace
		older end      => watch 6 can | replace
		end with no    => list "" seen 7 can | discard report busy
		closed         => stream "" seen 7 failures 1 can | discard report retry
		closed late    => list "" seen 7 can | discard report retry reset
		silent         => list "" seen 7 maybe | discard report
		unsupported    => list "" seen 7 | discard
		eof            => stream "" seen 7 failures 1 can | discard report retry
		eof late       => list "" seen 7 can | discard report retry reset
		expired        => stream "" seen 7 failures 1 can | discard report busy
		gone           => stream "" seen 7 failures 1 can | discard report busy
		too-large      => list "" seen 7 can | discard report busy 1s
		too-large-1.17 => list "" seen 7 can | discard report busy 1s
		timeout        => list "" seen 7 can | discard report
		busy           => stream "" seen 7 dry 0s can | discard report busy 5s
		refused        => stream "" seen 7 can | discard report away
		internal       => list "" seen 7 can | discard report
		internal late  => list "" seen 7 can | discard report
		unavailable    => list "" seen 7 can | discard report busy 5s
		unauthorized   => list "" seen 7 can | discard
		forbidden      => list "" seen 7 can | discard
		not-found      => list "" seen 7 can | discard
		bad-request    => list "" seen 7 can | discard
		invalid        => list "" seen 7 can | discard
		method-not-allowed => list "" seen 7 can | discard
		not-implemented    => list "" seen 7 can | discard report
		unreadable-delete  => list "" seen 7 can | discard report
		unusable           => list "" seen 7 can | discard report
		eof in the middle => stream "" seen 7 failures 1 can | discard report retry
		http2          => stream "" seen 7 failures 1 can | discard report retry
		unknown        => list "" seen 7 can | discard report
		unknown in the middle => stream "" seen 7 failures 1 can | discard report busy
		untrusted      => stream "" seen 7 failures 1 can | discard report retry
		ignored        => list "" seen 7 can | discard report
		reset          => stream "" seen 7 failures 1 can | discard report away
		unanswered     => stream "" seen 7 failures 1 can | discard report away
		unexplained    => list "" seen 7 can | discard report`},
}

func TestStreamSteps(t *testing.T) {
	for _, c := range streamSteps {
		t.Run(c.name, func(t *testing.T) { checkSteps(t, c.state, streamOutcomes(), c.want) })
	}
}

// TestNextAfterListing: where lists are streamed, a stream follows a failed LIST and replaces
// a watch. A list that continues at once stays a LIST.
func TestNextAfterListing(t *testing.T) {
	remembers := learned{stream: streamSupported, versioned: true, internalRetry: time.Minute}
	for name, want := range map[string]string{
		"eof": `stream "7" seen 7 can`, "busy": `stream "7" seen 7 can`, "bad-request": `stream "" seen 7 can`,
		"expired": `list "" seen 7 can`, "too-large": `list "" seen 7 can`, "older page": `list "" seen 7 can`,
		"page with no": `stream "7" seen 7 can`, "last page": `watch 8 can`,
	} {
		if next, _, _ := listOutcomes()[name](state{rv: "7", listRV: "7", learned: remembers}); next.text() != want {
			t.Errorf("a list, then %s: %s, want %s", name, next.text(), want)
		}
	}
	pages := state{rv: "7", listRV: "7", pageRV: "8", token: "t", learned: remembers}
	if next, _, _ := listOutcomes()["expired"](pages); next.text() != `list "" seen 7 unpaged can` {
		t.Errorf("pages, then expired: %s", next.text())
	}
	for name, want := range map[string]string{
		"expired": `stream "7" seen 7 relisted dry 0s can`, "too-large": `stream "" seen 7 relisted dry 0s can`, "out-of-order": `stream "7" seen 7 relisted dry 0s can`,
		"closed after events": `watch 9 can`,
	} {
		if next, _, _ := watchOutcomes()[name](state{phase: phaseWatching, rv: "7", learned: remembers}); next.text() != want {
			t.Errorf("a watch, then %s: %s, want %s", name, next.text(), want)
		}
	}
}

func TestStart(t *testing.T) {
	for _, c := range []struct {
		name string
		opts Tuning
		want string
	}{
		{"default", Tuning{}, `stream "" maybe`},
		{"without streams", Tuning{DisableWatchList: true}, `list "0"`},
		{"any", Tuning{FirstVersion: new("0")}, `stream "0" maybe`},
		{"any, without streams", Tuning{FirstVersion: new("0"), DisableWatchList: true}, `list "0"`},
		{"newest", Tuning{FirstVersion: new("")}, `stream "" maybe`},
		{"newest, without streams", Tuning{FirstVersion: new(""), DisableWatchList: true}, `list ""`},
		{"a version", Tuning{FirstVersion: new("5")}, `stream "5" seen 5 maybe`},
		{"a version, without streams", Tuning{FirstVersion: new("5"), DisableWatchList: true}, `list "5" seen 5`},
	} {
		if got := initialState(c.opts).text(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
