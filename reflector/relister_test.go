package reflector_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/internal/objid"
	"github.com/kinform/kinform/reflector"
)

// recaller is a sink of texts that says it has every object, once it has a list.
type recaller struct {
	filled bool
	listed []string
	asked  []objid.Identity
}

func (s *recaller) Lookup() func(objid.Identity) (string, bool) {
	if !s.filled {
		return nil
	}
	return func(id objid.Identity) (string, bool) {
		s.asked = append(s.asked, id)
		return "recalled " + id.Name, true
	}
}

func (s *recaller) Listed(_ context.Context, ev reflector.Event[string]) error {
	s.listed = append(s.listed, ev.Object)
	return nil
}
func (s *recaller) Skipped(*reflector.ObjectError)                       {}
func (s *recaller) Replace(context.Context, string) error                { s.filled = true; return nil }
func (s *recaller) Discard()                                             { s.listed = nil }
func (s *recaller) Apply(context.Context, reflector.Event[string]) error { return nil }

// A relist recalls objects through Map, Filter and Tweak, by LIST and as a stream. The first list
// recalls none, nor does a list of a source that cannot.
func TestRelistRecalls(t *testing.T) {
	for _, c := range []struct{ pages, recalled bool }{{false, true}, {true, true}, {false, false}, {true, false}} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, inner := widgetServer(t)
				for _, name := range []string{"a", "b"} {
					if _, err := fake.Create(server, &object{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}}); err != nil {
						t.Fatal(err)
					}
				}
				from := reflector.Source[*object](inner)
				if !c.recalled {
					from = struct{ reflector.Source[*object] }{inner}
				}
				some := reflector.Tweak(reflector.Filter(from, func(o *object) bool { return o.Name != "c" }), func(*metav1.ListOptions) {})
				source := reflector.Map(some, func(o *object) (string, error) { return "decoded " + o.Name, nil })
				sink := &recaller{}
				r, err := reflector.New(source, reflector.Sink[string](sink), reflector.Options{Tuning: reflector.Tuning{DisableWatchList: c.pages}, OnError: func(error) {}})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- r.Run(ctx) }()
				synctest.Wait()
				same(t, sink.listed, "decoded a", "decoded b")
				if len(sink.asked) > 0 {
					t.Errorf("the first list asks about %v", sink.asked)
				}
				sink.listed = nil
				server.JumpResourceVersion(5)
				if err := server.Compact(server.ResourceVersion()); err != nil {
					t.Fatal(err)
				}
				server.DropWatches()
				time.Sleep(time.Minute)
				synctest.Wait()
				cancel()
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				if !c.recalled {
					same(t, sink.listed, "decoded a", "decoded b")
					return
				}
				if same(t, sink.listed, "recalled a", "recalled b"); t.Failed() {
					return
				}
				if id := sink.asked[0]; id.Namespace != "n" || id.UID == "" || id.ResourceVersion == "" || id.Sum == 0 || r.Stats().Recalled != 2 {
					t.Errorf("asked about %+v, recalled %d", id, r.Stats().Recalled)
				}
			})
		})
	}
}
