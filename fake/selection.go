package fake

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
)

// Selection is a part of a resource. The zero value is all of it.
type Selection struct {
	// Namespace restricts to one namespace; empty means all.
	Namespace string
	// LabelSelector is in the syntax of the API, such as "app=web,tier!=cache".
	LabelSelector string
	// FieldSelector can name metadata.name and metadata.namespace.
	FieldSelector string

	// ReadOnly hands out the server's own objects instead of copies: everybody gets the
	// same pointer and nobody may change what it points to, as with the objects of an
	// informer's cache. It makes lists of many objects cheap. Without it each object is
	// the receiver's, as if decoded from the wire, so that a transform may change it.
	ReadOnly bool
}

// matcher is a parsed selection.
type matcher struct {
	namespace string
	name      string          // the one name that can match; empty for many
	labels    labels.Selector // nil matches all
	fields    fields.Requirements
}

// matcher parses s, narrowed by the selectors of opts.
func (s Selection) matcher(opts metav1.ListOptions) (*matcher, error) {
	m := &matcher{namespace: s.Namespace}
	if text := both(s.LabelSelector, opts.LabelSelector); text != "" {
		sel, err := labels.Parse(text)
		if err != nil {
			return nil, apierrors.NewBadRequest("unable to parse requirement: " + err.Error())
		}
		if !sel.Empty() {
			m.labels = sel
		}
	}
	if text := both(s.FieldSelector, opts.FieldSelector); text != "" {
		sel, err := fields.ParseSelector(text)
		if err == nil {
			sel, err = sel.Transform(runtime.DefaultMetaV1FieldSelectorConversion)
		}
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		m.fields = sel.Requirements()
		m.name, _ = sel.RequiresExactMatch("metadata.name")
	}
	return m, nil
}

func both(a, b string) string {
	if strings.TrimSpace(a) == "" || strings.TrimSpace(b) == "" {
		return a + b
	}
	return a + "," + b
}

// all reports whether every object of the namespace matches.
func (m *matcher) all() bool { return m.labels == nil && len(m.fields) == 0 }

func (m *matcher) match(obj metav1.Object) bool {
	if m.namespace != "" && obj.GetNamespace() != m.namespace {
		return false
	}
	for _, f := range m.fields {
		value := obj.GetName()
		if f.Field == "metadata.namespace" {
			value = obj.GetNamespace()
		}
		if (f.Operator == selection.NotEquals) == (value == f.Value) {
			return false
		}
	}
	return m.labels == nil || m.labels.Matches(labels.Set(obj.GetLabels()))
}
