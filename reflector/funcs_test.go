package reflector

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
)

type (
	partial     = metav1.PartialObjectMetadata
	partialList = metav1.PartialObjectMetadataList
)

func named(name, rv string) *partial {
	return &partial{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name, ResourceVersion: rv}}
}

// funcs is a source of a list and of a watch that ends after events.
func funcs(list *partialList, events ...apiwatch.Event) SourceFuncs[*partial] {
	return SourceFuncs[*partial]{
		Name:     "pods",
		ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return list, nil },
		WatchFunc: func(context.Context, metav1.ListOptions) (apiwatch.Interface, error) {
			all := make(chan apiwatch.Event, len(events))
			for _, ev := range events {
				all <- ev
			}
			close(all)
			return apiwatch.NewProxyWatcher(all), nil
		},
	}
}

func TestFuncsList(t *testing.T) {
	left := int64(7)
	list := &partialList{
		ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "more", RemainingItemCount: &left},
		Items:    []partial{*named("a", "3"), *named("b", "4")},
	}
	var got []string
	about, err := funcs(list).List(t.Context(), metav1.ListOptions{}, func(ev Event[*partial], err error) bool {
		if err != nil || ev.Type != Added || ev.Object == &list.Items[0] {
			t.Errorf("%v, %v", ev, err)
		}
		got = append(got, ev.Object.Name+"@"+ev.ResourceVersion)
		return true
	})
	if err != nil || about.ResourceVersion != "9" || about.Continue != "more" || about.RemainingItemCount != &left || !slices.Equal(got, []string{"a@3", "b@4"}) {
		t.Errorf("%v, %+v, %v", got, about, err)
	}
	_, err = funcs(list).List(t.Context(), metav1.ListOptions{}, func(Event[*partial], error) bool { return false })
	if !errors.Is(err, ErrListStopped) {
		t.Errorf("left: %v", err)
	}
}

func TestFuncsWatch(t *testing.T) {
	end := named("", "8")
	end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	source := funcs(nil,
		apiwatch.Event{Type: apiwatch.Added, Object: named("a", "3")},
		apiwatch.Event{Type: apiwatch.Bookmark, Object: end},
		apiwatch.Event{Type: apiwatch.Modified, Object: named("a", "9")},
		apiwatch.Event{Type: apiwatch.Deleted, Object: named("a", "10")},
		apiwatch.Event{Type: apiwatch.Bookmark, Object: named("", "11")},
		apiwatch.Event{Type: apiwatch.Error, Object: &metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonExpired}},
		apiwatch.Event{Type: apiwatch.Added, Object: named("b", "12")},
	)
	var got []string
	for ev, err := range source.Watch(t.Context(), metav1.ListOptions{}) {
		if err != nil {
			if !isExpired(err) {
				t.Error(err)
			}
			got = append(got, "expired")
			continue
		}
		what := ev.Type.String() + "@" + ev.ResourceVersion
		if ev.InitialEventsEnd {
			what += " end"
		}
		got = append(got, what)
	}
	if want := []string{"ADDED@3", "BOOKMARK@8 end", "MODIFIED@9", "DELETED@10", "BOOKMARK@11", "expired"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFuncsIdle: the last event of a buffered channel at the moment is marked, and each one of a
// channel without a buffer.
func TestFuncsIdle(t *testing.T) {
	buffered := apiwatch.NewFakeWithOptions(apiwatch.FakeOptions{ChannelSize: 10})
	for _, name := range []string{"a", "b", "c"} {
		buffered.Add(named(name, "3"))
	}
	unbuffered := apiwatch.NewFake()
	go func() {
		unbuffered.Add(named("a", "3"))
		unbuffered.Add(named("b", "4"))
		unbuffered.Stop()
	}()
	for _, c := range []struct {
		watch apiwatch.Interface
		want  []bool
	}{{buffered, []bool{false, false, true, true}}, {unbuffered, []bool{true, true}}} {
		source := SourceFuncs[*partial]{WatchFunc: func(context.Context, metav1.ListOptions) (apiwatch.Interface, error) { return c.watch, nil }}
		var got []bool
		for ev, err := range source.Watch(t.Context(), metav1.ListOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, ev.Idle); len(got) == 3 { // only the first watch has so many
				buffered.Add(named("d", "4"))
				buffered.Stop()
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("idle: %v, want %v", got, c.want)
		}
	}
}

// TestFuncsEventAllocates nothing for an event that can be used.
func TestFuncsEventAllocates(t *testing.T) {
	source, pod := funcs(nil), named("a", "3")
	if n := testing.AllocsPerRun(100, func() { _, _ = eventOf(source, Modified, pod) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// Whatever a watch holds that cannot be used is an error about one object, and the watch goes on.
func TestFuncsBadObjects(t *testing.T) {
	var none *partial
	source := funcs(nil,
		apiwatch.Event{Type: apiwatch.Modified, Object: &metav1.APIGroup{}},
		apiwatch.Event{Type: apiwatch.Deleted, Object: &partialOther{partial: *named("x", "5")}},
		apiwatch.Event{Type: apiwatch.Added, Object: nil},
		apiwatch.Event{Type: apiwatch.Added, Object: none},
		apiwatch.Event{Type: "WHATEVER", Object: named("y", "6")},
	)
	var got []string
	for _, err := range source.Watch(t.Context(), metav1.ListOptions{}) {
		var bad *ObjectError
		if !errors.As(err, &bad) {
			t.Fatal(err)
		}
		got = append(got, err.Error())
	}
	for n, want := range []string{"does not implement", `"prod/x" at resourceVersion 5 skipped: it is a *reflector.partialOther`, "nil", "nil", `"prod/y"`} {
		if n >= len(got) || !strings.Contains(got[n], want) {
			t.Errorf("error %d of %q lacks %q", n, got, want)
		}
	}
}

// partialOther is an object of another type.
type partialOther struct{ partial }

func (o *partialOther) DeepCopyObject() runtime.Object { return o }

func TestFuncsMistakes(t *testing.T) {
	var empty SourceFuncs[*partial]
	list := func(s SourceFuncs[*partial]) error {
		_, err := s.List(t.Context(), metav1.ListOptions{}, func(Event[*partial], error) bool { return true })
		return err
	}
	watched := func(s SourceFuncs[*partial], opts metav1.ListOptions) (err error) {
		for _, err = range s.Watch(t.Context(), opts) {
		}
		return err
	}
	if err := list(empty); !errors.Is(err, errNoFunc) {
		t.Error(err)
	}
	if err := watched(empty, metav1.ListOptions{}); !errors.Is(err, errNoFunc) {
		t.Error(err)
	}
	if err := list(funcs(nil)); !errors.Is(err, errNil) {
		t.Error(err)
	}
	none := funcs(nil)
	none.WatchFunc = func(context.Context, metav1.ListOptions) (apiwatch.Interface, error) { return nil, nil }
	if err := watched(none, metav1.ListOptions{}); !errors.Is(err, errNil) {
		t.Error(err)
	}
	noList := funcs(nil)
	noList.ListFunc = func(context.Context, metav1.ListOptions) (runtime.Object, error) { return &metav1.Status{}, nil }
	if err := list(noList); err == nil {
		t.Error("a Status was taken for a list")
	}
	refused := failure("forbidden", 0)
	none.WatchFunc = func(context.Context, metav1.ListOptions) (apiwatch.Interface, error) { return nil, refused }
	if err := watched(none, metav1.ListOptions{}); !errors.Is(err, refused) {
		t.Error(err)
	}
	yes := true
	none.NoWatchList = true
	if err := watched(none, metav1.ListOptions{SendInitialEvents: &yes}); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

// A watch that nothing comes from ends with its context, and is stopped.
func TestFuncsWatchEndsWithContext(t *testing.T) {
	w := apiwatch.NewFake()
	source := SourceFuncs[*partial]{WatchFunc: func(context.Context, metav1.ListOptions) (apiwatch.Interface, error) { return w, nil }}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range source.Watch(ctx, metav1.ListOptions{}) {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if !w.IsStopped() {
		t.Error("the watch goes on")
	}
}

// A reflector works on such a source as on any other.
func TestFuncsReflected(t *testing.T) {
	source := funcs(&partialList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}, Items: []partial{*named("a", "3")}},
		apiwatch.Event{Type: apiwatch.Modified, Object: named("a", "10")})
	source.NoWatchList = true
	enough := errors.New("enough")
	into := &sink[*partial]{apply: enough}
	r, err := New[*partial](source, into, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(t.Context()); !errors.Is(err, enough) || into.nListed != 1 || into.nReplace != 1 || into.nApply != 1 {
		t.Errorf("%v, %+v", err, into)
	}
}
