package faketest_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/kind"
)

func TestDiff(t *testing.T) {
	s := newServer(t) // p0 to p4, resourceVersions 2 to 6
	for i := range 5 {
		p := newPod("a", fmt.Sprintf("p%d", i))
		if i%2 == 0 {
			p.Labels = map[string]string{"app": "web"}
		}
		must(fake.Create(s, p))(t)
	}
	all := func() []*pod { return must(fake.List[*pod](s, fake.Selection{}))(t) }
	diff := func(sel fake.Selection, cached []*pod, opts ...cmp.Option) string {
		t.Helper()
		return must(faketest.Diff(s, sel, slices.Values(cached), opts...))(t)
	}
	if d := diff(fake.Selection{}, all()); d != "" {
		t.Errorf("equal lists differ:\n%s", d)
	}
	changed := all()
	changed[1].Spec.Node = "elsewhere"
	missing := all()[1:]
	extra := append(all(), newPod("a", "ghost"))
	for name, c := range map[string]struct {
		got  string
		want []string
	}{
		"changed":   {diff(fake.Selection{}, changed), []string{"a/p1:", "elsewhere"}},
		"missing":   {diff(fake.Selection{}, missing), []string{"- a/p0: not cached, resourceVersion 2"}},
		"extra":     {diff(fake.Selection{}, extra), []string{"+ a/ghost: cached"}},
		"twice":     {diff(fake.Selection{}, append(all(), all()[0])), []string{"+ a/p0: cached twice"}},
		"nil":       {diff(fake.Selection{}, append(all(), nil)), []string{"+ nil object"}},
		"selection": {diff(fake.Selection{LabelSelector: "app=web"}, all()), []string{"+ a/p1", "+ a/p3"}},
		"nothing":   {diff(fake.Selection{}, nil), []string{"- a/p0", "- a/p4"}},
	} {
		for _, want := range c.want {
			if !strings.Contains(c.got, want) {
				t.Errorf("%s: %q lacks %q", name, c.got, want)
			}
		}
	}
	if d := diff(fake.Selection{}, changed, cmpopts.IgnoreFields(pod{}, "Spec")); d != "" {
		t.Errorf("ignored field differs:\n%s", d)
	}
}

// TestDiffOfManyAndOdd checks that a cache that is all wrong gives a short answer, and
// that fields which are not exported count.
func TestDiffOfManyAndOdd(t *testing.T) {
	s := newServer(t)
	type odd struct {
		metav1.ObjectMeta `json:"metadata"`
		hidden            int
	}
	check(t, fake.Register(s, kind.Of[*odd](schema.GroupVersion{Version: "v1"}, "odds"), fake.Rules{}))
	var cached []*odd
	for i := range 50 {
		o := must(fake.Create(s, &odd{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprintf("o%02d", i)}}))(t)
		o.hidden = 1
		cached = append(cached, o)
	}
	d := must(faketest.Diff(s, fake.Selection{}, slices.Values(cached)))(t)
	if !strings.HasSuffix(d, "and 40 more\n") || !strings.Contains(d, "a/o00") || !regexp.MustCompile(`hidden:\s+1`).MatchString(d) {
		t.Error(d)
	}
	if _, err := faketest.Diff(s, fake.Selection{LabelSelector: "a in"}, slices.Values(cached)); err == nil {
		t.Error("a bad selector passed")
	}
}
