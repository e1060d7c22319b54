package informer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

func TestNewRefusesMisuse(t *testing.T) {
	src := source(t, newServer(t))
	for _, c := range []struct {
		name string
		new  func() (*informer.Informer[key, *widget], error)
		want error
		text string // what the error names
	}{
		{"no source", func() (*informer.Informer[key, *widget], error) {
			return informer.New[key, *widget](nil, store.ObjectKey, informer.Options[*widget]{})
		}, reflector.ErrInvalid, "*informer_test.widget"},
		{"no key function", func() (*informer.Informer[key, *widget], error) {
			return informer.New[key, *widget](src, nil, informer.Options[*widget]{})
		}, informer.ErrNoKeyFunc, "widgets.example.com: "},
		{"two indexes of one name", func() (*informer.Informer[key, *widget], error) {
			again := index.New("node", func(dst []int, w *widget) []int { return dst })
			return informer.New(src, store.ObjectKey, informer.Options[*widget]{
				Indexes: index.Of(byNode, again),
			})
		}, index.ErrDuplicate, `widgets.example.com: index "node"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := c.new(); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestAddHandlerRefusesNil(t *testing.T) {
	inf := newInformer(t, source(t, newServer(t)), informer.Options[*widget]{})
	for _, h := range []informer.Handler[key, *widget]{
		nil,
		informer.HandlerFunc[key, *widget](nil),
		informer.HandlerFuncs[key, *widget]{},
	} {
		if _, err := inf.AddHandler(h, handlerOptions{}); !errors.Is(err, informer.ErrNoHandler) {
			t.Errorf("AddHandler(%T) returned %v", h, err)
		}
	}
}

// script is a source whose lists and watches are given beforehand.
type script struct {
	lists   []scriptedList
	watches [][]scripted
}

type scripted struct {
	ev  reflector.Event[*widget]
	err error
}

type scriptedList struct {
	rv    string
	items []scripted
}

func (s *script) Resource() string { return "widgets" }

func (s *script) List(ctx context.Context, _ metav1.ListOptions, yield func(reflector.Event[*widget], error) bool) (metav1.ListMeta, error) {
	list := s.lists[0]
	if len(s.lists) > 1 {
		s.lists = s.lists[1:]
	}
	for _, item := range list.items {
		if !yield(item.ev, item.err) {
			return metav1.ListMeta{}, reflector.ErrListStopped
		}
	}
	return metav1.ListMeta{ResourceVersion: list.rv}, nil
}

func (s *script) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[*widget], error] {
	return func(yield func(reflector.Event[*widget], error) bool) {
		if opts.SendInitialEvents != nil {
			yield(reflector.Event[*widget]{}, errors.ErrUnsupported)
			return
		}
		if len(s.watches) == 0 {
			<-ctx.Done()
			return
		}
		events := s.watches[0]
		s.watches = s.watches[1:]
		for _, e := range events {
			if !yield(e.ev, e.err) {
				return
			}
		}
	}
}

func ev(typ reflector.EventType, rv string, w *widget) scripted {
	if w != nil {
		w.ResourceVersion = rv
	}
	return scripted{ev: reflector.Event[*widget]{Type: typ, ResourceVersion: rv, Object: w}}
}

func bad(key string, cause error) scripted {
	return scripted{err: &reflector.ObjectError{Resource: "widgets", Key: key, Err: cause}}
}

var (
	errGarbled = errors.New("garbled")
	errGone    = faults.Refusal(410, metav1.StatusReasonExpired, 0)
)

// TestSkippedObjectsStayCached relists with objects that cannot be used: what was cached
// of them must stay, and what is really gone must go.
func TestSkippedObjectsStayCached(t *testing.T) {
	for _, c := range []struct {
		name   string
		relist []scripted
		want   string // names that stay beside "kept"
	}{
		{"nothing skipped", nil, ""},
		{"known key", []scripted{bad("a/one", errGarbled)}, "one"},
		{"key of nothing", []scripted{bad("a/none", errGarbled)}, ""},
		{"unknown key", []scripted{bad("", errGarbled)}, "one two"},
		{"no name", []scripted{bad("", reflector.ErrNoName)}, ""},
		{"no name, decoded", []scripted{ev(reflector.Added, "5", newWidget("a", "", "n"))}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kept := func() scripted { return ev(reflector.Added, "1", newWidget("a", "kept", "n")) }
				src := &script{
					lists: []scriptedList{
						{"3", []scripted{
							kept(),
							ev(reflector.Added, "2", newWidget("a", "one", "n")),
							ev(reflector.Added, "3", newWidget("a", "two", "n")),
						}},
						{"9", append(c.relist, kept())},
					},
					watches: [][]scripted{{{err: errGone}}},
				}
				var heard errorsOf
				inf := newInformer(t, src, informer.Options[*widget]{OnError: heard.add, Reflector: reflector.Tuning{Backoff: reflector.Backoff{Random: noJitter}}})
				h := newHistory(t, inf)
				must1(inf.AddHandler(h, handlerOptions{}))(t)
				stop := run(t, inf)
				if err := inf.Store().WaitForRV(t.Context(), "9"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				h.check(t, "h")
				var names []string
				for _, name := range []string{"one", "two"} {
					if _, ok := inf.Store().Get(key{Namespace: "a", Name: name}); ok {
						names = append(names, name)
					}
				}
				if got := strings.Join(names, " "); got != c.want {
					t.Errorf("cached beside kept: %q, want %q", got, c.want)
				}
				if got := h.types(key{Namespace: "a", Name: "kept"}); got != "Added(initial)" {
					t.Errorf("an object that did not change was seen as %q", got)
				}
				if c.relist != nil {
					if _, ok := find[*reflector.ObjectError](&heard); !ok {
						t.Errorf("OnError heard %v, not of the object", heard.all)
					}
				}
				stop()
			})
		})
	}
}

// TestBadObjectsInWatch makes sure that events which cannot be used change nothing.
func TestBadObjectsInWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &script{
			lists: []scriptedList{{"1", []scripted{ev(reflector.Added, "1", newWidget("a", "one", "n"))}}},
			watches: [][]scripted{{
				bad("a/one", errGarbled),
				ev(reflector.Modified, "2", newWidget("a", "", "n")),
				ev(reflector.Added, "3", newWidget("a", "boom", "panic in the index")),
				ev(reflector.Added, "4", newWidget("a", "panic in the key", "n")),
				ev(reflector.Added, "5", newWidget("a", "two", "n")),
			}},
		}
		var heard errorsOf
		keyFunc := func(w *widget) (key, error) {
			if w.Name == "panic in the key" {
				panic("key")
			}
			return store.ObjectKey(w)
		}
		inf, err := informer.New(src, keyFunc, informer.Options[*widget]{
			OnError: heard.add,
			Indexes: index.Of(index.New("node", func(dst []string, w *widget) []string {
				if w.Spec.Node == "panic in the index" {
					panic("index")
				}
				return append(dst, w.Spec.Node)
			})),
		})
		if err != nil {
			t.Fatal(err)
		}
		h := newHistory(t, inf)
		must1(inf.AddHandler(h, handlerOptions{}))(t)
		stop := run(t, inf)
		h.check(t, "h")
		if got := inf.Store().Len(); got != 2 {
			t.Errorf("%d objects, want one and two", got)
		}
		if got := inf.Store().ResourceVersion(); got != "5" {
			t.Errorf("store at resourceVersion %q, want 5", got)
		}
		var texts []string
		for _, err := range heard.all {
			if object := new(reflector.ObjectError); errors.As(err, &object) {
				texts = append(texts, object.Key)
			}
		}
		if got := strings.Join(texts, ","); got != "a/one,,a/boom," && got != "a/one,,,a/boom" {
			t.Errorf("OnError heard of the keys %q: %v", got, heard.all)
		}
		stop()
	})
}

// holder is an object whose metadata can be missing, which makes its methods panic. It has no informer
// of its own type, since one of any is compiled for another test anyway.
type holder struct {
	*metav1.ObjectMeta
	name string
	list int
}

func noJitter() float64 { return 0 }

// TestPanicInMetadata: what reads an object's metadata must not end the process.
func TestPanicInMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard errorsOf
		src := &holders{}
		inf, err := informer.New(src, func(o any) (key, error) { return key{Name: o.(*holder).name}, nil },
			informer.Options[any]{OnError: heard.add, Reflector: reflector.Tuning{Backoff: reflector.Backoff{Random: noJitter}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- inf.Run(ctx) }()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if src.lists < 2 || inf.Store().Len() != 1 {
			t.Errorf("%d lists, %d objects, want at least 2 and 1", src.lists, inf.Store().Len())
		}
		if _, ok := find[*reflector.ObjectError](&heard); !ok || inf.Stats().BadObjects == 0 {
			t.Errorf("OnError heard %v, %d bad objects counted", heard.all, inf.Stats().BadObjects)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}

// holders lists one object without metadata over and over, with other contents each time: nothing reads
// the metadata of an unchanged one.
type holders struct{ lists int }

func (s *holders) Resource() string { return "holders" }

func (s *holders) List(_ context.Context, _ metav1.ListOptions, yield func(reflector.Event[any], error) bool) (metav1.ListMeta, error) {
	s.lists++
	yield(reflector.Event[any]{Type: reflector.Added, Object: &holder{name: "x", list: s.lists}}, nil)
	return metav1.ListMeta{ResourceVersion: fmt.Sprint(s.lists)}, nil
}

func (s *holders) Watch(_ context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[any], error] {
	err := error(errGone)
	if opts.SendInitialEvents != nil {
		err = errors.ErrUnsupported
	}
	return func(yield func(reflector.Event[any], error) bool) { yield(reflector.Event[any]{}, err) }
}

func TestPanicInOnErrorEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &script{lists: []scriptedList{{"1", []scripted{bad("a/b", errGarbled)}}}}
		inf := newInformer(t, src, informer.Options[*widget]{OnError: func(error) { panic("in OnError") }})
		var panicked *informer.PanicError
		if err := inf.Run(t.Context()); !errors.As(err, &panicked) || panicked.Where != "OnError" {
			t.Errorf("Run returned %v", err)
		}
	})
}

// TestGoexitInOnError ends the goroutine that Run was called in; Run leaves nothing behind.
func TestGoexitInOnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		must1(fake.Create(server, newWidget("a", "w", "n")))(t)
		calls := 0
		inf := newInformer(t, source(t, server), informer.Options[*widget]{
			Indexes: index.Of(index.New("bad", func([]string, *widget) []string { panic("index") })),
			OnError: func(error) {
				if calls++; calls == 1 {
					runtime.Goexit()
				}
			},
		})
		reg := must1(inf.AddHandler(newHistory(t, inf), handlerOptions{}))(t)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = inf.Run(t.Context())
		}()
		<-ended
		if calls == 0 || !isClosed(reg.Done()) {
			t.Errorf("OnError was called %d times; the handler is done: %t", calls, isClosed(reg.Done()))
		}
		run(t, inf)()
	})
}

// TestZeroKey: a key that was never set is no key.
func TestZeroKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard errorsOf
		src := &script{lists: []scriptedList{{"1", []scripted{ev(reflector.Added, "1", newWidget("a", "b", "n"))}}}}
		inf, err := informer.New(src, func(*widget) (key, error) { return key{}, nil }, informer.Options[*widget]{OnError: heard.add})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- inf.Run(ctx) }()
		synctest.Wait()
		if _, ok := find[*reflector.ObjectError](&heard); !ok || inf.Store().Len() != 0 {
			t.Errorf("OnError heard %v; %d objects", heard.all, inf.Store().Len())
		}
		cancel()
		<-ended
	})
}

// TestNamelessItemsOfAServer relists through the real client with items that cannot be
// cached: they must not keep what is gone.
func TestNamelessItemsOfAServer(t *testing.T) {
	const item = `{"metadata":{"namespace":"a","name":"%s","resourceVersion":"%s"}}`
	for _, c := range []struct {
		name, extra string
		want        int
	}{
		{"nothing else", "", 1},
		{"null, which may be any object", ",null", 2},
		{"no name", `,{"metadata":{"namespace":"a"}}`, 1},
		{"garbled, of the key that would be gone", `,{"metadata":{"namespace":"a","name":"two"},"spec":{"size":"big"}}`, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lists := 0
				answer := func(req *http.Request) string {
					switch {
					case req.URL.Query().Get("watch") != "":
						return `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}`
					case lists == 0:
						lists++
						return fmt.Sprintf(`{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"2"},"items":[`+item+","+item+`]}`, "one", "1", "two", "2")
					}
					return fmt.Sprintf(`{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"9"},"items":[`+item+c.extra+`]}`, "one", "1")
				}
				src, err := client.New(client.Connection{URL: "http://x", HTTP: &http.Client{Transport: roundTrip(answer)}},
					kind.OfResource[*widget](schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}), client.Options{})
				if err != nil {
					t.Fatal(err)
				}
				inf := newInformer(t, src, informer.Options[*widget]{OnError: ignore, Reflector: reflector.Tuning{DisableWatchList: true, Backoff: reflector.Backoff{Random: noJitter}}})
				stop := run(t, inf)
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if got := inf.Store().Len(); got != c.want {
					t.Errorf("%d objects cached, want %d", got, c.want)
				}
				stop()
			})
		})
	}
}

// roundTrip is a transport that answers every request with the JSON that it returns.
type roundTrip func(*http.Request) string

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(strings.NewReader(f(req))),
		Request:    req,
	}, nil
}

// TestRestoredServer: after the server went back in time its objects count, even where
// their versions look as if nothing had changed.
func TestRestoredServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sized := func(size int) *widget {
			w := newWidget("a", "w", "n")
			w.Spec.Size = size
			return w
		}
		src := &script{
			lists: []scriptedList{
				{"20", []scripted{ev(reflector.Added, "11", sized(1))}},
				{"12", []scripted{ev(reflector.Added, "11", sized(999))}}, // at "20": too old, so not taken
				{"12", []scripted{ev(reflector.Added, "11", sized(999))}}, // at ""
			},
			watches: [][]scripted{{{err: errGone}}},
		}
		inf := newInformer(t, src, informer.Options[*widget]{OnError: ignore})
		h := newHistory(t, inf)
		must1(inf.AddHandler(h, handlerOptions{}))(t)
		stop := run(t, inf)
		time.Sleep(time.Minute)
		synctest.Wait()
		if w, _ := inf.Store().Get(key{Namespace: "a", Name: "w"}); w.Spec.Size != 999 {
			t.Errorf("the store still has the state from before: %+v", w.Spec)
		}
		if got := inf.Store().ResourceVersion(); got != "12" {
			t.Errorf("the store is at %s, the server at 12", got)
		}
		if got := h.types(key{Namespace: "a", Name: "w"}); got != "Added(initial) Updated" {
			t.Errorf("the handler saw %q", got)
		}
		stop()
	})
}
