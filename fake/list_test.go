package fake_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// list returns what a source lists, as names and resourceVersions.
func list(t *testing.T, s *fake.Server, sel fake.Selection, opts metav1.ListOptions) (lines []string, meta metav1.ListMeta, err error) {
	t.Helper()
	src := must(fake.NewSource[*pod](s, sel))(t)
	meta, err = src.List(t.Context(), opts, func(ev reflector.Event[*pod], err error) bool {
		check(t, err)
		if ev.Type != reflector.Added || ev.ResourceVersion != ev.Object.ResourceVersion {
			t.Errorf("listed %+v", ev)
		}
		lines = append(lines, ev.Object.Name+" "+ev.ResourceVersion)
		return true
	})
	return lines, meta, err
}

// fivePods creates p0 to p4 (2 to 6), those with an even number labelled app=web.
func fivePods(t *testing.T) *fake.Server {
	t.Helper()
	s := newServer(t, fake.Options{})
	for i := range 5 {
		p := newPod("a", fmt.Sprintf("p%d", i))
		if i%2 == 0 {
			p.Labels = map[string]string{"app": "web"}
		}
		must(fake.Create(s, p))(t)
	}
	return s
}

func TestListRules(t *testing.T) {
	exact := metav1.ResourceVersionMatchExact
	all := []string{"p0 2", "p1 3", "p2 4", "p3 5", "p4 6"}
	for _, c := range []struct {
		name string
		opts metav1.ListOptions
		want []string
		meta metav1.ListMeta
		code int32
	}{
		{"unset", metav1.ListOptions{}, all, metav1.ListMeta{ResourceVersion: "6"}, 0},
		{"zero", metav1.ListOptions{ResourceVersion: "0"}, all, metav1.ListMeta{ResourceVersion: "6"}, 0},
		{"zero ignores limit", metav1.ListOptions{ResourceVersion: "0", Limit: 2}, all, metav1.ListMeta{ResourceVersion: "6"}, 0},
		{"not older", metav1.ListOptions{ResourceVersion: "3", ResourceVersionMatch: notOlder}, all, metav1.ListMeta{ResourceVersion: "6"}, 0},
		{"legacy not older", metav1.ListOptions{ResourceVersion: "3"}, all, metav1.ListMeta{ResourceVersion: "6"}, 0},
		{"exact", metav1.ListOptions{ResourceVersion: "3", ResourceVersionMatch: exact}, all[:2], metav1.ListMeta{ResourceVersion: "3"}, 0},
		{"legacy exact by limit", metav1.ListOptions{ResourceVersion: "3", Limit: 9}, all[:2], metav1.ListMeta{ResourceVersion: "3"}, 0},
		{"limit of all", metav1.ListOptions{Limit: 5}, all, metav1.ListMeta{ResourceVersion: "6"}, 0},
		{"labels", metav1.ListOptions{LabelSelector: "app=web"}, []string{"p0 2", "p2 4", "p4 6"}, metav1.ListMeta{ResourceVersion: "6"}, 0},
		{"field", metav1.ListOptions{FieldSelector: "metadata.name=p3"}, []string{"p3 5"}, metav1.ListMeta{ResourceVersion: "6"}, 0},
		{"field that nothing has", metav1.ListOptions{FieldSelector: "metadata.name=none"}, nil, metav1.ListMeta{ResourceVersion: "6"}, 0},
		{"not a field", metav1.ListOptions{FieldSelector: "metadata.name!=p3,metadata.namespace=a"}, []string{"p0 2", "p1 3", "p2 4", "p4 6"}, metav1.ListMeta{ResourceVersion: "6"}, 0},
		{"future", metav1.ListOptions{ResourceVersion: "7"}, nil, metav1.ListMeta{}, 504},
		{"exact future", metav1.ListOptions{ResourceVersion: "7", ResourceVersionMatch: exact}, nil, metav1.ListMeta{}, 504},
		{"exact past", metav1.ListOptions{ResourceVersion: "1", ResourceVersionMatch: exact}, nil, metav1.ListMeta{}, 410},
		{"exact zero", metav1.ListOptions{ResourceVersion: "0", ResourceVersionMatch: exact}, nil, metav1.ListMeta{}, 422},
		{"match without version", metav1.ListOptions{ResourceVersionMatch: exact}, nil, metav1.ListMeta{}, 422},
		{"unknown match", metav1.ListOptions{ResourceVersion: "3", ResourceVersionMatch: "Newest"}, nil, metav1.ListMeta{}, 422},
		{"initial events", metav1.ListOptions{SendInitialEvents: &yes}, nil, metav1.ListMeta{}, 422},
		{"negative version", metav1.ListOptions{ResourceVersion: "-1"}, nil, metav1.ListMeta{}, 400},
		{"bad field", metav1.ListOptions{FieldSelector: "x"}, nil, metav1.ListMeta{}, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fivePods(t)
			check(t, s.Compact("2"))
			got, meta, err := list(t, s, fake.Selection{}, c.opts)
			if c.code != 0 {
				reasons := map[int32]metav1.StatusReason{400: metav1.StatusReasonBadRequest, 410: metav1.StatusReasonExpired, 422: metav1.StatusReasonInvalid, 504: metav1.StatusReasonTimeout}
				wantStatus(t, err, c.code, reasons[c.code])
				return
			}
			check(t, err)
			if d := cmp.Diff(c.want, got) + cmp.Diff(c.meta, meta); d != "" {
				t.Errorf("list (-want +got):\n%s", d)
			}
		})
	}
}

func TestPagesAreOfOneVersion(t *testing.T) {
	s := fivePods(t)
	page1, meta, err := list(t, s, fake.Selection{}, metav1.ListOptions{Limit: 2})
	check(t, err)
	if d := cmp.Diff([]string{"p0 2", "p1 3"}, page1); d != "" || meta.Continue == "" || *meta.RemainingItemCount != 3 {
		t.Fatalf("first page %v, meta %+v", page1, meta)
	}
	must(fake.Delete[*pod](s, key("a", "p2")))(t)
	must(fake.Patch[*pod](s, key("a", "p3"), []byte(`{"spec":{"node":"n"}}`)))(t)
	must(fake.Create(s, newPod("a", "p1-new")))(t)
	page2, meta2, err := list(t, s, fake.Selection{}, metav1.ListOptions{Limit: 2, Continue: meta.Continue})
	check(t, err)
	if d := cmp.Diff([]string{"p2 4", "p3 5"}, page2); d != "" || meta2.ResourceVersion != "6" || *meta2.RemainingItemCount != 1 {
		t.Fatalf("second page %v, meta %+v", page2, meta2)
	}

	check(t, s.Compact("7"))
	_, _, err = list(t, s, fake.Selection{}, metav1.ListOptions{Limit: 2, Continue: meta2.Continue})
	status := wantStatus(t, err, 410, metav1.StatusReasonExpired)
	rest, meta3, err := list(t, s, fake.Selection{}, metav1.ListOptions{Continue: status.Continue})
	check(t, err)
	if d := cmp.Diff([]string{"p4 6"}, rest); d != "" || meta3.ResourceVersion != "10" {
		t.Fatalf("inconsistent page %v, meta %+v", rest, meta3)
	}
}

func TestPagesOfASelectionMayEndEmpty(t *testing.T) {
	s := fivePods(t)
	must(fake.Create(s, newPod("a", "p5")))(t)
	var sizes []int
	opts := metav1.ListOptions{Limit: 3, LabelSelector: "app=web"}
	for {
		got, meta, err := list(t, s, fake.Selection{}, opts)
		check(t, err)
		if meta.RemainingItemCount != nil {
			t.Error("a selection cannot know what remains")
		}
		sizes = append(sizes, len(got))
		if opts.Continue = meta.Continue; opts.Continue == "" {
			break
		}
	}
	if d := cmp.Diff([]int{3, 0}, sizes); d != "" {
		t.Error(d)
	}
}

// TestTokenFromBeforeTheNamespace continues a list in a namespace that lies after the
// token: nothing of it may be skipped.
func TestTokenFromBeforeTheNamespace(t *testing.T) {
	s := fivePods(t)
	must(fake.Create(s, newPod("b", "q")))(t)
	_, meta, err := list(t, s, fake.Selection{}, metav1.ListOptions{Limit: 1})
	check(t, err)
	got, _, err := list(t, s, fake.Selection{Namespace: "b"}, metav1.ListOptions{Continue: meta.Continue})
	check(t, err)
	if d := cmp.Diff([]string{"q 7"}, got); d != "" {
		t.Error(d)
	}
}

func TestBadContinueTokens(t *testing.T) {
	s := fivePods(t)
	_, meta, err := list(t, s, fake.Selection{}, metav1.ListOptions{Limit: 1})
	check(t, err)
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for name, opts := range map[string]metav1.ListOptions{
		"no base64":    {Continue: "?"},
		"no JSON":      {Continue: encode("x")},
		"version":      {Continue: encode(`{"v":"v2","rv":3,"start":"a/p\u0000"}`)},
		"no RV":        {Continue: encode(`{"v":"meta.k8s.io/v1","start":"a/p\u0000"}`)},
		"RV below -1":  {Continue: encode(`{"v":"meta.k8s.io/v1","rv":-2,"start":"a/p\u0000"}`)},
		"no start":     {Continue: encode(`{"v":"meta.k8s.io/v1","rv":3}`)},
		"a way out":    {Continue: encode(`{"v":"meta.k8s.io/v1","rv":3,"start":"../secrets/s\u0000"}`)},
		"no namespace": {Continue: encode(`{"v":"meta.k8s.io/v1","rv":3,"start":"//p\u0000"}`)},
		"token and RV": {Continue: meta.Continue, ResourceVersion: "3"},
	} {
		_, _, err := list(t, s, fake.Selection{}, opts)
		if status := wantStatus(t, err, 400, metav1.StatusReasonBadRequest); !strings.Contains(status.Message, "continue") {
			t.Errorf("%s: %s", name, status.Message)
		}
	}
	_, _, err = list(t, s, fake.Selection{}, metav1.ListOptions{Continue: encode(`{"v":"meta.k8s.io/v1","rv":99,"start":"a/p\u0000"}`)})
	wantStatus(t, err, 504, metav1.StatusReasonTimeout)
}

func TestOptionsNarrowTheSelection(t *testing.T) {
	s := fivePods(t)
	got, _, err := list(t, s, fake.Selection{LabelSelector: "app=web", FieldSelector: "metadata.name!=p0"},
		metav1.ListOptions{LabelSelector: "app", FieldSelector: "metadata.name!=p4"})
	check(t, err)
	if d := cmp.Diff([]string{"p2 4"}, got); d != "" {
		t.Error(d)
	}
}

func TestListStops(t *testing.T) {
	src := must(fake.NewSource[*pod](fivePods(t), fake.Selection{}))(t)
	n := 0
	_, err := src.List(t.Context(), metav1.ListOptions{}, func(reflector.Event[*pod], error) bool { n++; return n < 2 })
	if !errors.Is(err, reflector.ErrListStopped) || n != 2 {
		t.Errorf("stopped after %d with %v", n, err)
	}
}

func TestCompactRefuses(t *testing.T) {
	s := fivePods(t)
	for _, rv := range []string{"", "x", "7", "-1"} {
		if s.Compact(rv) == nil {
			t.Errorf("Compact(%q) passed", rv)
		}
	}
	check(t, s.Compact("0"))
}

// TestListsWait: on a server with strategies, as the envtest program is, a list waits for the next write of its
// resource, but not for long, if another resource was written since the list before.
func TestListsWait(t *testing.T) {
	const pods = "/api/v1/namespaces/a/pods"
	note := func(t *testing.T, s *fake.Server, name string) {
		must(fake.Create(s, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}}))(t)
	}
	for name, c := range map[string]struct {
		inexact bool
		path    string
		before  func(t *testing.T, s *fake.Server)
		within  time.Duration // a pod is written; 0 for never
		want    time.Duration
	}{
		"nothing written": {path: pods, before: func(*testing.T, *fake.Server) {}},
		"own write":       {path: pods, before: func(t *testing.T, s *fake.Server) { note(t, s, "y"); must(fake.Create(s, newPod("a", "y")))(t) }},
		"other write":     {path: pods, before: func(t *testing.T, s *fake.Server) { note(t, s, "y") }, want: 100 * time.Millisecond},
		"ended by write":  {path: pods, before: func(t *testing.T, s *fake.Server) { note(t, s, "y") }, within: 5 * time.Millisecond, want: 6 * time.Millisecond},
		"later":           {path: pods, before: func(t *testing.T, s *fake.Server) { time.Sleep(time.Second); note(t, s, "y") }, want: 2 * time.Millisecond},
		"any version":     {path: pods + "?resourceVersion=0", before: func(t *testing.T, s *fake.Server) { note(t, s, "y") }},
		"other server":    {inexact: true, path: pods, before: func(t *testing.T, s *fake.Server) { note(t, s, "y") }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := fake.Options{Strategy: func(schema.GroupVersionResource, schema.GroupVersionKind) *fake.Strategy { return nil }}
				if c.inexact {
					opts.Strategy = nil
				}
				s := fake.New(opts)
				check(t, fake.Register(s, podKind, fake.Rules{}))
				check(t, fake.Register(s, kind.Of[*metav1.PartialObjectMetadata](v1, "notes").Named("Note"), fake.Rules{}))
				must(fake.Create(s, newPod("a", "x")))(t)
				note(t, s, "x")
				request(t, s, "GET", pods, "", "")
				c.before(t, s)
				began := time.Now()
				if c.within > 0 {
					time.AfterFunc(c.within, func() { must(fake.Create(s, newPod("a", "z")))(t) })
				}
				_, body := request(t, s, "GET", c.path, "", "")
				if took := time.Since(began); took < c.want-time.Millisecond || took > c.want {
					t.Errorf("took %v, want %v", took, c.want)
				}
				if bytes.Contains(body, []byte(`"z"`)) != (c.within > 0) {
					t.Errorf("the list: %s", body)
				}
			})
		})
	}
}
