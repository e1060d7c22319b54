package fake_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/reflector"
)

func TestBuilders(t *testing.T) {
	s := newServer(t, fake.Options{})
	shared := map[string]string{"app": "web"}
	owner := must(fake.Create(s, fake.Object(&pod{}, "a", "owner")))(t)
	p := fake.Object(&pod{ObjectMeta: metav1.ObjectMeta{Labels: shared}}, "a", "p",
		fake.Labels("tier", "1", "odd"), fake.Annotations("note", "x"), fake.Finalizers("example.com/f"), fake.Finalizers("example.com/g"), fake.OwnedBy(owner))
	p = must(fake.Create(s, p))(t)
	if fmt.Sprint(p.Labels, p.Annotations, p.Finalizers) != "map[app:web odd: tier:1] map[note:x] [example.com/f example.com/g]" || len(shared) != 1 {
		t.Errorf("built %v %v %v from %v", p.Labels, p.Annotations, p.Finalizers, shared)
	}
	if ref := metav1.GetControllerOf(p); ref == nil || ref.Kind != "Pod" || ref.APIVersion != "v1" || ref.UID != owner.UID || !*ref.BlockOwnerDeletion {
		t.Errorf("owner %+v", ref)
	}
	many := must(fake.CreateMany(s, 3, func(i int) *pod { return fake.Object(&pod{Spec: podSpec{Node: fmt.Sprint(i)}}, "b", "") }))(t)
	if len(many) != 3 || many[2].Name != "0002" || many[2].Spec.Node != "2" || many[2].UID == "" {
		t.Errorf("many: %+v", many)
	}
	if some, err := fake.CreateMany(s, 3, func(i int) *pod { return fake.Object(&pod{}, "b", fmt.Sprintf("000%d", 3-i)) }); err == nil || len(some) != 1 {
		t.Errorf("%d created, %v", len(some), err)
	}
	if _, err := fake.CreateMany(s, 1, func(int) *pod { return nil }); err == nil {
		t.Error("nil is created")
	}
}

type expectation = fake.Expectation[string, *pod]

func TestRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r fake.Recorder[string, *pod]
		p1, p2 := newPod("a", "p1"), newPod("a", "p1")
		q := newPod("a", "q")
		go func() {
			time.Sleep(time.Second)
			r.Added("p", p1)
			time.Sleep(time.Second)
			r.Added("q", q)
			r.Updated("p", p1, p2)
			r.Deleted("q", q)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		fromOld := func(ev fake.Recorded[string, *pod]) error {
			if ev.Old != p1 || ev.Object != p2 {
				return errors.New("other objects")
			}
			return nil
		}
		// Keys in any order, each key in its own.
		check(t, r.Expect(ctx, expectation{Type: reflector.Added, Key: "q"}, expectation{Type: reflector.Added, Key: "p"},
			expectation{Type: reflector.Modified, Key: "p", Check: fromOld}))
		check(t, r.Expect(ctx, expectation{Type: reflector.Deleted, Key: "q"}))
		check(t, r.Expect(ctx))
		if n := len(r.Events()); n != 4 || r.History.Events() != 4 {
			t.Errorf("%d events", n)
		}
		r.Added("x", newPod("a", "x"))
		r.Deleted("y", newPod("a", "y"))
		r.Updated("p", p2, p1)
		for name, c := range map[string]struct {
			err  error
			want []string
		}{
			"left over": {r.Expect(ctx), []string{"event 1: ADDED x, not expected", "event 2: DELETED y, not expected", "deleted while absent"}},
			"nothing":   {r.Expect(ctx, expectation{Type: reflector.Added, Key: "z"}), []string{"0 of 1 events: context deadline exceeded", "no event: ADDED z"}},
		} {
			for _, want := range c.want {
				if c.err == nil || !strings.Contains(c.err.Error(), want) {
					t.Errorf("%s: %v, want %q", name, c.err, want)
				}
			}
		}
	})
}

func TestRecorderMismatches(t *testing.T) {
	var r fake.Recorder[string, *pod]
	r.Added("p", newPod("a", "p"))
	r.Added("q", newPod("a", "q"))
	bad := func(fake.Recorded[string, *pod]) error { return errors.New("not so") }
	err := r.Expect(t.Context(), expectation{Type: reflector.Deleted, Key: "p"}, expectation{Type: reflector.Added, Key: "q", Check: bad})
	if want := "event 1: ADDED p, want DELETED\nevent 2: ADDED q: not so"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// tester records what a helper does to a test.
type tester struct {
	cleanup []func()
	errors  []string
}

func (*tester) Helper()                        {}
func (f *tester) Cleanup(do func())            { f.cleanup = append(f.cleanup, do) }
func (f *tester) Errorf(s string, args ...any) { f.errors = append(f.errors, fmt.Sprintf(s, args...)) }

func TestNoLeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // goleak waits for goroutines to end
		for _, leaks := range []bool{false, true} {
			var f tester
			stop := make(chan struct{})
			before := make(chan struct{})
			go func() { <-before }()
			fake.NoLeaks(&f)
			go func() { <-stop }()
			if !leaks {
				close(stop)
			}
			for _, do := range f.cleanup {
				do()
			}
			if got := len(f.errors) > 0; got != leaks {
				t.Errorf("leaks %t: %q", leaks, f.errors)
			}
			if leaks {
				close(stop)
			}
			close(before)
		}
	})
}
