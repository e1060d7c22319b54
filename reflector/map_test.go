package reflector_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/reflector"
)

type partial = *metav1.PartialObjectMetadata

// canned is a source that answers every list and watch with the same pairs.
type canned[T any] struct {
	pairs []pair[T]
	page  metav1.ListMeta
	err   error
	asked metav1.ListOptions
}

type pair[T any] struct {
	ev  reflector.Event[T]
	err error
}

func (c *canned[T]) Resource() string { return "pods" }

func (c *canned[T]) List(_ context.Context, opts metav1.ListOptions, yield func(reflector.Event[T], error) bool) (metav1.ListMeta, error) {
	c.asked = opts
	for _, p := range c.pairs {
		if !yield(p.ev, p.err) {
			return metav1.ListMeta{}, reflector.ErrListStopped
		}
	}
	return c.page, c.err
}

func (c *canned[T]) Watch(_ context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[T], error] {
	c.asked = opts
	return func(yield func(reflector.Event[T], error) bool) {
		for _, p := range c.pairs {
			if !yield(p.ev, p.err) {
				return
			}
		}
	}
}

func pod(name, rv string) partial {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "prod", Name: name, ResourceVersion: rv, UID: types.UID(fmt.Sprintf("%x", sha256.Sum256([]byte(name)))),
	}}
}

func event(typ reflector.EventType, name, rv string) pair[partial] {
	ev := reflector.Event[partial]{Type: typ, ResourceVersion: rv}
	if typ != reflector.Bookmark {
		ev.Object = pod(name, rv)
	}
	return pair[partial]{ev: ev}
}

// watched is what a source yields, one line a pair.
func watched[T any](source reflector.Source[T], opts metav1.ListOptions) (lines []string) {
	for ev, err := range source.Watch(context.Background(), opts) {
		lines = append(lines, line(ev, err))
	}
	return lines
}

func listed[T any](t *testing.T, source reflector.Source[T]) (lines []string) {
	t.Helper()
	_, err := source.List(context.Background(), metav1.ListOptions{}, func(ev reflector.Event[T], err error) bool {
		lines = append(lines, line(ev, err))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func line[T any](ev reflector.Event[T], err error) string {
	if err != nil {
		return err.Error()
	}
	text := ev.Type.String() + " " + ev.ResourceVersion
	if ev.InitialEventsEnd {
		text += " end"
	}
	switch object := any(ev.Object).(type) {
	case partial:
		if object != nil {
			text += " " + object.Name
		}
	case string:
		text += " " + object
	}
	return strings.TrimSpace(text)
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestMapChangesTheType(t *testing.T) {
	broken := errors.New("stream broke")
	source := &canned[partial]{page: metav1.ListMeta{ResourceVersion: "9", Continue: "more"}, pairs: []pair[partial]{
		event(reflector.Added, "a", "1"), event(reflector.Modified, "bad", "2"),
		event(reflector.Bookmark, "", "3"), event(reflector.Deleted, "bad", "4"), {err: broken},
	}}
	names := reflector.Map(source, func(p partial) (string, error) {
		if p.Name == "bad" {
			return "", errors.New("no node")
		}
		return p.Name, nil
	})
	if got := names.Resource(); got != "pods" {
		t.Errorf("Resource() = %q", got)
	}
	same(t, watched(names, metav1.ListOptions{ResourceVersion: "0"}),
		"ADDED 1 a",
		`pods: object "prod/bad" at resourceVersion 2 skipped: no node`,
		"BOOKMARK 3",
		`pods: object "prod/bad" at resourceVersion 4 skipped: no node`,
		"stream broke")
	if source.asked.ResourceVersion != "0" {
		t.Errorf("asked for %+v", source.asked)
	}
	page, err := names.List(context.Background(), metav1.ListOptions{Limit: 7}, func(reflector.Event[string], error) bool { return true })
	if err != nil || page.Continue != "more" || source.asked.Limit != 7 {
		t.Errorf("List() = %+v, %v; asked for %+v", page, err, source.asked)
	}
}

// metered is a source that counts what it reads.
type metered struct{ canned[partial] }

func (*metered) Received() (uint64, time.Duration) { return 17, time.Second }

func TestMapReportsWhatItsSourceReceived(t *testing.T) {
	for _, c := range []struct {
		source reflector.Source[partial]
		want   uint64
	}{{&metered{}, 17}, {&canned[partial]{}, 0}} {
		meter := reflector.Filter(c.source, func(partial) bool { return true }).(interface {
			Received() (uint64, time.Duration)
		})
		if got, _ := meter.Received(); got != c.want {
			t.Errorf("Received() = %d, want %d", got, c.want)
		}
	}
}

func TestMapSaysWhatKindOfEventFailed(t *testing.T) {
	cause := errors.New("no node")
	source := &canned[partial]{pairs: []pair[partial]{event(reflector.Deleted, "a", "4")}}
	failing := reflector.Map(source, func(partial) (int, error) { return 0, cause })
	var bad *reflector.ObjectError
	for _, err := range failing.Watch(context.Background(), metav1.ListOptions{}) {
		if !errors.As(err, &bad) || bad.Type != reflector.Deleted || !errors.Is(err, cause) {
			t.Errorf("watch: %+v", err)
		}
	}
	source.pairs[0].ev.Type = reflector.Added
	_, _ = failing.List(context.Background(), metav1.ListOptions{}, func(_ reflector.Event[int], err error) bool {
		if !errors.As(err, &bad) || bad.Type != 0 || bad.Key != "prod/a" {
			t.Errorf("list: %+v", err)
		}
		return true
	})
	if bad == nil {
		t.Error("nothing was reported")
	}
	source.pairs[0].ev.Type = reflector.Deleted
	yes := true
	for _, err := range failing.Watch(context.Background(), metav1.ListOptions{SendInitialEvents: &yes}) {
		if !errors.As(err, &bad) || bad.Type != reflector.Deleted {
			t.Errorf("deletion in a streaming list: %+v", err)
		}
	}
}

func TestMapStopsWhenItsCallerDoes(t *testing.T) {
	source := &canned[partial]{pairs: []pair[partial]{event(reflector.Added, "a", "1"), event(reflector.Added, "b", "2")}}
	names := reflector.Map(source, func(p partial) (string, error) { return p.Name, nil })
	calls := 0
	_, err := names.List(context.Background(), metav1.ListOptions{}, func(reflector.Event[string], error) bool { calls++; return false })
	if !errors.Is(err, reflector.ErrListStopped) || calls != 1 {
		t.Errorf("List() = %v after %d calls", err, calls)
	}
	for range names.Watch(context.Background(), metav1.ListOptions{}) {
		break // ranging on after this would panic
	}
}

func TestMapNamesTheObjectOfAPanic(t *testing.T) {
	cause := errors.New("boom")
	for _, value := range []any{cause, "boom"} {
		source := &canned[partial]{pairs: []pair[partial]{event(reflector.Added, "a", "1")}}
		panicking := reflector.Map(source, func(partial) (int, error) { panic(value) })
		func() {
			defer func() {
				err, ok := recover().(error)
				if want := `pods: object "prod/a": panic: boom`; !ok || err.Error() != want {
					t.Errorf("panic with %v, want %q", err, want)
				}
				if value == any(cause) && !errors.Is(err, cause) {
					t.Errorf("%v hides its cause", err)
				}
			}()
			watched(panicking, metav1.ListOptions{})
		}()
	}
}

// A source that is filtered must look like one whose server filters.
func TestFilter(t *testing.T) {
	source := &canned[partial]{pairs: []pair[partial]{
		event(reflector.Added, "in", "1"), event(reflector.Added, "out", "2"),
		event(reflector.Modified, "in", "3"), event(reflector.Modified, "out", "4"),
		event(reflector.Deleted, "in", "5"), event(reflector.Deleted, "out", "6"),
		event(reflector.Bookmark, "", "7"),
	}}
	kept := reflector.Filter(source, func(p partial) bool { return p.Name == "in" })
	same(t, watched(kept, metav1.ListOptions{ResourceVersion: "1"}),
		"ADDED 1 in", "BOOKMARK 2", "MODIFIED 3 in", "DELETED 4 out", "DELETED 5 in", "DELETED 6 out", "BOOKMARK 7")
}

// A nil argument makes a nil source, which New refuses.
func TestMapAndFilterOfNil(t *testing.T) {
	source := &canned[partial]{}
	for name, got := range map[string]reflector.Source[partial]{
		"Map of a nil source":    reflector.Map(nil, func(p partial) (partial, error) { return p, nil }),
		"Map by nil":             reflector.Map[partial, partial](source, nil),
		"Filter of a nil source": reflector.Filter(nil, func(partial) bool { return true }),
		"Filter by nil":          reflector.Filter(source, nil),
	} {
		if got != nil {
			t.Errorf("%s is a source", name)
		}
	}
}

func TestFilterLeavesThingsOutOfLists(t *testing.T) {
	source := &canned[partial]{pairs: []pair[partial]{
		event(reflector.Added, "out", "9"), event(reflector.Added, "in", "1"), event(reflector.Modified, "out", "3"),
	}}
	kept := reflector.Filter(source, func(p partial) bool { return p.Name == "in" })
	same(t, listed(t, kept), "ADDED 1 in", "DELETED 3 out")

	// A bookmark at 9 would say that everything up to it has been sent.
	end := event(reflector.Bookmark, "", "9")
	end.ev.InitialEventsEnd = true
	source.pairs = append(source.pairs, end, event(reflector.Added, "out", "10"))
	yes := true
	same(t, watched(kept, metav1.ListOptions{SendInitialEvents: &yes}),
		"ADDED 1 in", "DELETED 3 out", "BOOKMARK 9 end", "BOOKMARK 10")
}

// What a watch from "0" begins with is in no order: a bookmark in place of an object that
// is left out would make the others look old.
func TestFilterOfAWatchFromTheBeginning(t *testing.T) {
	source := &canned[partial]{pairs: []pair[partial]{
		event(reflector.Added, "out", "9"), {err: &reflector.ObjectError{Resource: "pods", Err: reflector.ErrNoName}},
		event(reflector.Added, "out", "8"), event(reflector.Added, "in", "4"),
		event(reflector.Modified, "in", "10"), event(reflector.Added, "out", "11"),
	}}
	kept := reflector.Filter(source, func(p partial) bool { return p.Name == "in" })
	for _, rv := range []string{"", "0"} {
		same(t, watched(kept, metav1.ListOptions{ResourceVersion: rv}),
			"pods: object of unknown key skipped: object has no metadata.name", "ADDED 4 in", "MODIFIED 10 in", "BOOKMARK 11")
	}
}

// TestFilterRandom compares what a cache behind a filter holds with the filtered content
// of one without.
func TestFilterRandom(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		source := &canned[string]{}
		all := map[string]string{}
		for rv := range 60 {
			key := string(rune('a' + rng.IntN(6)))
			typ := reflector.Modified
			if _, there := all[key]; !there {
				typ = reflector.Added
			} else if rng.IntN(3) == 0 {
				typ = reflector.Deleted
			}
			object := fmt.Sprintf("%s %d", key, rng.IntN(2))
			if all[key] = object; typ == reflector.Deleted {
				delete(all, key)
			}
			source.pairs = append(source.pairs, pair[string]{ev: reflector.Event[string]{Type: typ, ResourceVersion: fmt.Sprint(rv + 1), Object: object}})
		}
		keep := func(object string) bool { return strings.HasSuffix(object, "1") }
		got := map[string]string{}
		for ev := range reflector.Filter(source, keep).Watch(context.Background(), metav1.ListOptions{ResourceVersion: "1"}) {
			switch key := strings.Fields(ev.Object + " ")[:min(1, len(ev.Object))]; {
			case ev.Type == reflector.Bookmark:
			case ev.Type == reflector.Deleted:
				delete(got, key[0])
			default:
				got[key[0]] = ev.Object
			}
		}
		for key, object := range all {
			if !keep(object) {
				delete(all, key)
			}
		}
		if diff := cmp.Diff(all, got); diff != "" {
			t.Fatalf("seed %d: -want +got:\n%s", seed, diff)
		}
	}
}
