package reflector

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var update = flag.Bool("update", false, "write the transcripts into testdata; read them afterwards")

// TestScripts plays testdata/*.txt: what a server answers (script_server_test.go has the
// words), and below a line "----" everything that must be heard of it, by the virtual
// second: requests as the server got them, calls of the sink, errors reported.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			script, want, _ := strings.Cut(string(text), "----\n")
			var got string
			synctest.Test(t, func(t *testing.T) { got = play(t, script) })
			if *update {
				if err := os.WriteFile(file, []byte(script+"----\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
		})
	}
}

// play runs a reflector against a script and returns the transcript. It must be called
// in a synctest bubble.
func play(t *testing.T, script string) string {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := &player{t: t, began: time.Now(), cancel: cancel}
	p.opts.DisableWatchList, p.opts.TrustVersions = true, true
	p.parse(script)
	p.opts.OnError = func(err error) { p.log("error: %v", err) }
	r, err := New[any](p, (*scriptSink)(p), p.opts)
	if err != nil {
		t.Fatal(err)
	}
	err = r.Run(ctx)
	p.log("run returned %v", err)
	p.log("stats%s", statsText(r.Stats(), p.began))
	checkLastRelists(t, r.Stats())
	if s := r.Stats(); s.Failures > 0 && (s.LastError == nil || s.LastErrorAt.Before(p.began)) || !s.ListingSince.IsZero() || !s.QuietSince.IsZero() {
		t.Errorf("%d failures, the last error is %v of %v; a list in progress since %v, quiet since %v", s.Failures, s.LastError, s.LastErrorAt, s.ListingSince, s.QuietSince)
	}
	if len(p.blocks) > 0 {
		t.Errorf("%d blocks of the script were not asked for, first %q", len(p.blocks), p.blocks[0])
	}
	return p.out.String()
}

// statsText writes what is not zero. The transcript itself shows how long lists and watches took.
func statsText(s Stats, began time.Time) string {
	s.ListTime, s.ListedInAll, s.EndedWatches, s.WatchTime, s.ShortWatches = 0, 0, 0, 0, 0
	s.LastRelists = [keptRelists]Relist{} // see checkLastRelists
	s.LastError, s.LastErrorAt = nil, time.Time{}
	var b strings.Builder
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		switch name, value := v.Type().Field(i).Name, v.Field(i); {
		case value.IsZero():
		case name == "Polling":
			fmt.Fprintf(&b, " Polling:every %v since %.3f", s.Polling.Every, s.Polling.Since.Sub(began).Seconds())
		case name == "LastEvent":
			fmt.Fprintf(&b, " %s:%.3f", name, s.LastEvent.Sub(began).Seconds())
		default:
			fmt.Fprintf(&b, " %s:%+v", name, value)
		}
	}
	return b.String()
}

// checkLastRelists compares the newest relists with the numbers of all.
func checkLastRelists(t *testing.T, s Stats) {
	t.Helper()
	left, all := s.Relists.ByReason(), uint64(0)
	for _, n := range left {
		all += n
	}
	for i, one := range s.LastRelists {
		if (one == Relist{}) != (uint64(i) >= all) || i > 0 && one.At.After(s.LastRelists[i-1].At) {
			t.Errorf("%d relists, but the newest are %v", all, s.LastRelists)
			return
		}
		if left[one.Reason] == 0 && one != (Relist{}) {
			t.Errorf("more relists are %q than counted: %v", one.Reason, s.LastRelists)
		}
		left[one.Reason]--
	}
}

// player is a source that follows a script, and writes the transcript. Used by the
// goroutine of Run alone, but for out: a watchdog reports in its own.
type player struct {
	t      *testing.T
	began  time.Time
	cancel context.CancelFunc
	opts   Options
	named  bool // objects have metadata
	blocks []block
	server *Breaker // nil if the source is no Server

	mu  sync.Mutex
	out strings.Builder
}

// block answers one request.
type block struct {
	verb  string
	lines [][]string
}

func (p *player) log(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(&p.out, "%9.3f  %s\n", time.Since(p.began).Seconds(), line)
}

// next logs a request and returns the block that answers it. After the last block it
// stops the reflector.
func (p *player) next(verb string, opts metav1.ListOptions) (b block, ok bool) {
	p.log("%s %s", strings.ToUpper(verb), requestText(opts))
	if len(p.blocks) == 0 {
		p.log("end of script")
		p.cancel()
		return block{}, false
	}
	b = p.blocks[0]
	if b.verb != verb {
		p.t.Errorf("the reflector asks to %s, the script has a %s", verb, b.verb)
		p.blocks = nil
		p.cancel()
		return block{}, false
	}
	p.blocks = p.blocks[1:]
	return b, true
}

func requestText(opts metav1.ListOptions) string {
	var b strings.Builder
	fmt.Fprintf(&b, "rv=%q", opts.ResourceVersion)
	if opts.ResourceVersionMatch != "" {
		fmt.Fprintf(&b, " match=%s", opts.ResourceVersionMatch)
	}
	if opts.Limit != 0 {
		fmt.Fprintf(&b, " limit=%d", opts.Limit)
	}
	if opts.FieldSelector != "" {
		fmt.Fprintf(&b, " fields=%s", opts.FieldSelector)
	}
	if opts.Continue != "" {
		fmt.Fprintf(&b, " continue=%s", opts.Continue)
	}
	if opts.TimeoutSeconds != nil {
		fmt.Fprintf(&b, " timeout=%ds", *opts.TimeoutSeconds)
	}
	if opts.AllowWatchBookmarks {
		b.WriteString(" bookmarks")
	}
	if opts.SendInitialEvents != nil {
		fmt.Fprintf(&b, " initial-events=%v", *opts.SendInitialEvents)
	}
	return b.String()
}

func (p *player) Resource() string { return "pods" }

func (p *player) Breaker() *Breaker { return p.server }

func (p *player) List(ctx context.Context, opts metav1.ListOptions, yield func(Event[any], error) bool) (metav1.ListMeta, error) {
	b, ok := p.next("list", opts)
	if !ok {
		return metav1.ListMeta{}, ctx.Err()
	}
	for _, words := range b.lines {
		if words[0] == "page" {
			return listMeta(p.t, words[1:]), nil
		}
		ev, err, send := p.perform(ctx, words)
		if !send {
			return metav1.ListMeta{}, err
		}
		if ev.Type == 0 && err == nil {
			continue
		}
		if !yield(ev, err) {
			return metav1.ListMeta{}, ErrListStopped
		}
	}
	p.t.Error("the script's list has no page, fail or hang at its end")
	return metav1.ListMeta{}, errors.New("bad script")
}

func (p *player) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[any], error] {
	return func(yield func(Event[any], error) bool) {
		b, ok := p.next("watch", opts)
		if !ok {
			yield(Event[any]{}, ctx.Err())
			return
		}
		for _, words := range b.lines {
			if words[0] == "close" {
				return
			}
			ev, err, send := p.perform(ctx, words)
			if !send {
				yield(Event[any]{}, err)
				return
			}
			if (ev.Type != 0 || err != nil) && !yield(ev, err) {
				p.log("  the watch is left")
				return
			}
		}
		p.t.Error("the script's watch has no close, fail or hang at its end")
	}
}

// scriptSink logs what a sink hears.
type scriptSink player

func (s *scriptSink) log(format string, args ...any) { (*player)(s).log("  "+format, args...) }

func eventText(ev Event[any]) string {
	if ev.InitialEventsEnd {
		return fmt.Sprintf("%v @%s end", ev.Type, ev.ResourceVersion)
	}
	switch object := ev.Object.(type) {
	case *metav1.PartialObjectMetadata:
		return fmt.Sprintf("%v %s/%s:%s@%s", ev.Type, object.Namespace, object.Name, object.UID, ev.ResourceVersion)
	case string:
		return fmt.Sprintf("%v %s@%s", ev.Type, object, ev.ResourceVersion)
	}
	return fmt.Sprintf("%v @%s", ev.Type, ev.ResourceVersion)
}

func (s *scriptSink) Listed(_ context.Context, ev Event[any]) error {
	s.log("sink: listed %s", eventText(ev))
	return nil
}

func (s *scriptSink) Skipped(bad *ObjectError) { s.log("sink: skipped %q", bad.Key) }

func (s *scriptSink) Replace(_ context.Context, rv string) error {
	s.log("sink: replace @%s", rv)
	return nil
}

func (s *scriptSink) Discard() { s.log("sink: discard") }

func (s *scriptSink) Rewound(certain bool) { s.log("sink: rewound, certain=%v", certain) }

func (s *scriptSink) Apply(_ context.Context, ev Event[any]) error {
	s.log("sink: apply %s", eventText(ev))
	return nil
}
