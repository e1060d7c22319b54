package shard

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/shard/internal/assign"
	"github.com/kinform/kinform/shard/internal/gate"
	"github.com/kinform/kinform/shard/internal/replica"
	"github.com/kinform/kinform/shard/leader"
)

var plan = replica.Plan{
	Scheme: "key", UID: "u", Epoch: 7, Open: true, Names: map[string]string{"a": "A", "b": "B"},
	Ranges: assign.Table{{Owner: "a", Since: 3, Number: 2}, {First: 1 << 63, Owner: "b", Next: "a", Since: 7, Number: 5}},
}

func TestSheet(t *testing.T) {
	annotations, err := sheetAnnotations("web", plan)
	if err != nil {
		t.Fatal(err)
	}
	l := &leader.Lease{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u", ResourceVersion: "5", Annotations: annotations}}
	if s := sheetOf(l); !s.Valid || s.UID != "u" || s.Version != "5" || !reflect.DeepEqual(s.Plan, plan) {
		t.Errorf("%+v", s)
	}
	l.Name = "other"
	if sheetOf(l).Valid {
		t.Error("a copy under another name is valid")
	}
	l.Annotations = nil
	if sheetOf(l).Valid {
		t.Error("without annotations it is valid")
	}
}

func TestRecord(t *testing.T) {
	r := &Replica{opts: Options{Namespace: "prod", Name: "web", Identity: "me", LeaseDuration: DefaultLeaseDuration}}
	info := replica.Info{Scheme: "key", Weight: 2, Obeys: "u", Epoch: 7, Released: []replica.Release{{First: 1<<64 - 1, Since: 7}}, Leaving: true}
	l, err := r.newLease(replica.Request{Verb: replica.CreateLease, Name: "web-1", Info: info, Renewed: 1234567})
	if err != nil {
		t.Fatal(err)
	}
	if got := recordOf(l); !got.Valid || got.Name != "web-1" || got.Identity != "me" || got.Renewed != 1234567 || !reflect.DeepEqual(got.Info, info) {
		t.Errorf("%+v", got)
	}
	for what, edit := range map[string]func(*leader.Lease){
		"renewTime":  func(l *leader.Lease) { l.Spec.RenewTime = nil },
		"holder":     func(l *leader.Lease) { l.Spec.HolderIdentity = nil },
		"annotation": func(l *leader.Lease) { l.Annotations = map[string]string{AnnotationMember: "{}"} },
	} {
		c := *l
		edit(&c)
		if recordOf(&c).Valid {
			t.Errorf("after an edit of %s it is valid", what)
		}
	}
}

// FuzzLease reads annotations that have the right seal, and any contents.
func FuzzLease(f *testing.F) {
	text, err := planText(plan)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(`{"scheme":"key","weight":1,"released":[{"first":18446744073709551615,"since":1}]}`)
	f.Add(`{"ranges":[{"first":"0000000000000000"},{"first":"0000000000000000"}]}`)
	f.Add(`{"ranges":[{"first":"-1"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		l := &leader.Lease{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: map[string]string{
			AnnotationAssignment: text, AnnotationMember: text, annotationSeal: seal("n", text),
		}}}
		s := sheetOf(l)
		if s.Valid && s.Plan.Ranges.Check() != nil {
			t.Errorf("a bad table is valid: %q", text)
		}
		_ = assignmentOf(&replica.View{Sheet: s}).Check()
		l.Annotations[annotationSeal] = seal("n", "", "0", text)
		_ = assignmentOf(&replica.View{Records: []*replica.Record{recordOf(l)}, Sheet: s}).Check()
	})
}

// TestWatcher: a list replaces everything, except for objects that could not be decoded.
func TestWatcher(t *testing.T) {
	w := newWatcher("web")
	lease := func(name, rv string) reflector.Event[*leader.Lease] {
		return reflector.Event[*leader.Lease]{Type: reflector.Added, ResourceVersion: rv, Object: &leader.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: rv}}}
	}
	list := func(names ...string) {
		for _, name := range names {
			_ = w.Listed(context.Background(), lease(name, "1"))
		}
	}
	names := func() (all []string) {
		v := w.take()
		if v == nil {
			return nil
		}
		for _, r := range v.Records {
			all = append(all, r.Name)
		}
		return all
	}
	list("a", "b", "web")
	if names() != nil {
		t.Error("a list is visible before its end")
	}
	_ = w.Replace(context.Background(), "1")
	if got := names(); !reflect.DeepEqual(got, []string{"a", "b"}) {
		t.Error(got)
	}
	list("x")
	w.Discard()
	list("c")
	w.Skipped(&reflector.ObjectError{Key: "prod/b", Err: errors.New("bad")})
	w.Rewound(false)
	_ = w.Replace(context.Background(), "2")
	if got := names(); !reflect.DeepEqual(got, []string{"b", "c"}) {
		t.Error(got)
	}
	w.Rewound(true)
	list("c")
	w.Skipped(&reflector.ObjectError{Err: errors.New("which?")})
	_ = w.Replace(context.Background(), "3")
	gone := lease("b", "4")
	gone.Type = reflector.Deleted
	_ = w.Apply(context.Background(), gone)
	v := w.take()
	if len(v.Records) != 1 || v.Records[0].Name != "c" || !v.Rewound || v.Sheet != nil {
		t.Errorf("%+v", v)
	}
	_ = w.Apply(context.Background(), reflector.Event[*leader.Lease]{Type: reflector.Bookmark})
	if w.take() != nil {
		t.Error("a bookmark is news")
	}
	_ = w.Apply(context.Background(), lease("web", "5"))
	if v := w.take(); v.Rewound || v.Sheet == nil {
		t.Errorf("%+v", v)
	}
}

// TestHolds compares the functions about ranges with a list of all hashes.
func TestHolds(t *testing.T) {
	a := []replica.Hold{{First: 0, Last: 9, Number: 1}, {First: 20, Last: 29, Number: 2}, {First: 40, Last: ^uint64(0), Number: 3}}
	b := []replica.Hold{{First: 5, Last: 24, Number: 4}, {First: 26, Last: 26, Number: 5}, {First: 50, Last: ^uint64(0), Number: 6}}
	both, rest := common(a, b), without(a, b)
	for hash := range uint64(70) {
		_, inA := find(a, hash)
		of, inB := find(b, hash)
		if got, in := find(both, hash); in != (inA && inB) || in && got.Number != of.Number {
			t.Errorf("common has %d: %v %+v", hash, in, got)
		}
		if _, in := find(rest, hash); in != (inA && !inB) {
			t.Errorf("without has %d: %v", hash, in)
		}
	}
}

// TestDoubt: a key is not forgotten if the lease is renewed at the last moment.
func TestDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Replica{gate: gate.New(ErrFenced, ErrMoved), tokens: map[*token]struct{}{}, wake: make(chan struct{}, 1)}
		r.holds = []replica.Hold{{Last: 1<<64 - 1, Number: 3}}
		r.ready = r.holds
		calls := 0
		w := &Work[int]{r, Keys[int]{Hashed: func(int) string { return "" }}, func(ctx context.Context, _ int) error { calls++; return nil }}
		time.AfterFunc(time.Second, func() { r.limit(time.Now().Add(time.Second), "u") })
		if err := w.Reconcile(t.Context(), 1); err != nil || calls != 1 || !w.Has(1) {
			t.Errorf("%d calls, %v", calls, err)
		}
		time.Sleep(time.Minute)
		time.AfterFunc(time.Second, func() { r.hold(nil) })
		if err := w.Reconcile(t.Context(), 1); err != nil || calls != 1 || w.Has(1) {
			t.Errorf("%d calls, %v", calls, err)
		}
	})
}

// TestSize: the assignment of 100 replicas, of 600 ranges, fits into the 256 KiB that the
// annotations of an object may have.
func TestSize(t *testing.T) {
	p := replica.Plan{Scheme: "key", UID: "3f2504e0-4f89-11d3-9a0c-0305e82c3301", Epoch: 1 << 31, Open: true, Names: map[string]string{}}
	for n := range 600 {
		id := fmt.Sprintf("3f2504e0-4f89-11d3-9a0c-%012d", n%100)
		p.Names[id] = fmt.Sprintf("website-controller-7c5ddbdf54-%05d", n%100)
		p.Ranges = append(p.Ranges, assign.Range{First: uint64(n) << 54, Owner: id, Next: id, Since: 1 << 31, Number: 1 << 31})
	}
	text, err := planText(p)
	if err != nil || len(text) > 128<<10 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	t.Log(len(text))
}
