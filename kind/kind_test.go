package kind_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/kind"
)

type (
	lamp            struct{}
	generic[T any]  struct{ _ T }
	alias           = lamp
	élan            struct{}
	interfaceOfKind interface{ M() }
)

func TestKindName(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{kind.Of[*Website](version, "x").Kind, "Website"},
		{kind.Of[Website](version, "x").Kind, "Website"},
		{kind.Of[*lamp](version, "x").Kind, "Lamp"},
		{kind.Of[*alias](version, "x").Kind, "Lamp"},
		{kind.Of[*élan](version, "x").Kind, "Élan"},
		{kind.Of[*generic[map[string]lamp]](version, "x").Kind, "Generic"},
		{kind.Of[interfaceOfKind](version, "x").Kind, "InterfaceOfKind"},
		{kind.Of[*unstructured.Unstructured](version, "x").Kind, ""},
		{kind.Of[*metav1.PartialObjectMetadata](version, "x").Kind, ""},
		{kind.Of[metav1.PartialObjectMetadata](version, "x").Kind, ""},
		{kind.Of[map[string]any](version, "x").Kind, ""},
		{kind.OfResource[*Website](version.WithResource("x")).Kind, ""},
		{kind.OfResource[*Website](version.WithResource("x")).Named("Y").Kind, "Y"},
		{kind.As[*lamp](Websites).Kind, "Website"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
	if got := kind.OfResource[*Website](version.WithResource("x")).Scope; got != kind.UnknownScope {
		t.Errorf("scope %q", got)
	}
}

// TestCopies: methods change copies, even if two of them grow from one list.
func TestCopies(t *testing.T) {
	lists := func(k *kind.Kind[*lamp]) []string { return slices.Concat(k.Subresources, k.ShortNames, k.Categories) }
	more := func(k *kind.Kind[*lamp], name string) *kind.Kind[*lamp] {
		return k.WithSubresources(name).WithShortNames(name).WithCategories(name)
	}
	base := more(more(more(kind.Of[*lamp](version, "lamps"), "a"), "b"), "c")
	one, two := more(base, "one"), more(base, "two")
	for _, test := range []struct {
		kind *kind.Kind[*lamp]
		want string
	}{
		{base, "a b c a b c a b c"}, {one, "a b c one a b c one a b c one"}, {two, "a b c two a b c two a b c two"},
	} {
		if got := strings.Join(lists(test.kind), " "); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
	if !one.HasSubresource("one") || base.HasSubresource("one") {
		t.Error("HasSubresource")
	}
	changed := base.Named("Other").Cluster()
	if base.Kind != "Lamp" || base.Scope != kind.Namespaced || changed.Kind != "Other" || changed.Scope != kind.ClusterScoped {
		t.Error(base, changed)
	}
}

func TestCheck(t *testing.T) {
	v1 := schema.GroupVersion{Version: "v1"}
	good := kind.Of[*lamp](v1, "lamps")
	for _, k := range []*kind.Kind[*lamp]{
		good, good.Cluster(), kind.OfResource[*lamp](v1.WithResource("lamps")),
		kind.Of[*lamp](schema.GroupVersion{Group: "a.b-c.example.com", Version: "v1beta1"}, "lamps").WithSubresources("status", "a.B").WithShortNames("l").WithCategories("all"),
	} {
		if err := k.Check(); err != nil {
			t.Error(err)
		}
	}
	odd := good.Cluster()
	odd.Scope = "Namespace"
	for name, test := range map[string]struct {
		kind  *kind.Kind[*lamp]
		texts []string
	}{
		"nil":         {nil, []string{"it is nil: make it with kind.Of"}},
		"zero":        {&kind.Kind[*lamp]{}, []string{"a kind without a name", "no resource", "no API version"}},
		"no resource": {kind.Of[*lamp](v1, ""), []string{"Lamp of API version \"v1\"", "no resource"}},
		"capital":     {kind.Of[*lamp](v1, "Lamps"), []string{`"Lamps"`, `must be lower case, such as "lamps"`}},
		"path":        {kind.Of[*lamp](v1, "lamps/status"), []string{`resource "lamps/status"`}},
		"no version":  {kind.Of[*lamp](schema.GroupVersion{Group: "x"}, "lamps"), []string{"no API version"}},
		"version":     {kind.Of[*lamp](schema.GroupVersion{Version: "1"}, "lamps"), []string{`API version "1"`}},
		"group":       {kind.Of[*lamp](schema.GroupVersion{Group: "a/v1", Version: "v1"}, "lamps"), []string{`group "a/v1"`}},
		"kind":        {good.Named("a b"), []string{`kind "a b"`}},
		"scope":       {odd, []string{`scope "Namespace"`, `"Namespaced" or "Cluster"`}},
		"subresource": {good.WithSubresources("a/b", ""), []string{`subresource "a/b"`, `subresource ""`}},
		"short name":  {good.WithShortNames("L"), []string{`short name "L"`}},
		"category":    {good.WithCategories("A"), []string{`category "A"`}},
	} {
		err := test.kind.Check()
		if !errors.Is(err, kind.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, text := range test.texts {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v does not say %s", name, err, text)
			}
		}
	}
}
