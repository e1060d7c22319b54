package fake

import (
	"fmt"
	"maps"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/fake/internal/shards"
)

// The fields by which every resource can be selected.
const (
	nameField      = "metadata.name"
	namespaceField = "metadata.namespace"
)

// Selection is a part of a resource. The zero value is all of it.
type Selection struct {
	// Namespace restricts to one namespace; empty means all.
	Namespace string
	// LabelSelector is in the syntax of the API, such as "app=web,tier!=cache".
	LabelSelector string
	// FieldSelector can name metadata.name, metadata.namespace and the fields that
	// [AddField] made known.
	FieldSelector string

	// ReadOnly hands out the server's own objects instead of copies: all receivers share
	// them and treat them as read-only, as they do the objects of an informer's cache. It
	// makes lists of many objects cheap. Without it each object belongs to its receiver, as
	// if decoded from the wire, so that a transform may change it.
	ReadOnly bool
}

// AddField lets field selectors on T's resource name field, such as "spec.nodeName",
// whose value in an object is value(obj). It is called in the goroutine of every list and
// watch that asks, without a lock, and must not change obj; equal objects must have equal
// values. Adding a field again replaces it for later requests. Errors: [ErrNotRegistered],
// [ErrInvalid], also for an empty field or a nil function.
func AddField[T metav1.Object](at Target, field string, value func(obj T) string) error {
	t, err := lookup[T](at, schema.GroupVersionKind{})
	if err != nil {
		return err
	}
	if field == "" || value == nil {
		return fmt.Errorf("fake: %s: %w: a field to select by needs a name and a function", t.res.groupResource(), errResource)
	}
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	t.fields = maps.Clone(t.fields) // matchers hold the old map
	if t.fields == nil {
		t.fields = map[string]func(metav1.Object) string{}
	}
	t.fields[field] = eraseField(value)
	return nil
}

// matcher is a parsed selection.
type matcher struct {
	namespace string
	name      string          // the one name that can match; empty for many
	labels    labels.Selector // nil matches all
	fields    fields.Requirements
	values    map[string]func(metav1.Object) string // of fields beside name and namespace
	shards    *shards.Selector                      // nil matches all
}

// matcher parses s, narrowed by the selectors of opts.
func (t *table) matcher(s Selection, opts metav1.ListOptions) (*matcher, error) {
	m := &matcher{namespace: s.Namespace}
	if text := bothSelectors(s.LabelSelector, opts.LabelSelector); text != "" {
		sel, err := labels.Parse(text)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if !sel.Empty() {
			m.labels = sel
		}
	}
	if text := bothSelectors(s.FieldSelector, opts.FieldSelector); text != "" {
		sel, err := fields.ParseSelector(text)
		if err == nil {
			m.values = t.fieldValues()
			sel, err = sel.Transform(t.fieldLabel(m.values))
		}
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		m.fields = sel.Requirements()
		m.name, _ = sel.RequiresExactMatch(nameField)
	}
	if opts.ShardSelector != "" && !t.server.lacks.sharding {
		var err error
		if m.shards, err = shards.Parse(opts.ShardSelector); err != nil {
			return nil, errShards(err)
		}
	}
	return m, nil
}

// errShards is the API server's answer to a shardSelector that does not parse: a 500.
func errShards(err error) error {
	return refusal.New(http.StatusInternalServerError, metav1.StatusReasonUnknown, "invalid shard selector: "+err.Error())
}

func (t *table) fieldValues() map[string]func(metav1.Object) string {
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	return t.fields
}

// fieldLabel refuses fields that the resource cannot be selected by. Resources with their own
// fields word it differently from resources without.
func (t *table) fieldLabel(known map[string]func(metav1.Object) string) fields.TransformFunc {
	return func(label, value string) (string, string, error) {
		if known[label] != nil || label == nameField || label == namespaceField {
			return label, value, nil
		}
		if known != nil || t.res.custom() {
			return "", "", fmt.Errorf("field label not supported: %s", label)
		}
		return runtime.DefaultMetaV1FieldSelectorConversion(label, value)
	}
}

func bothSelectors(a, b string) string {
	if strings.TrimSpace(a) == "" || strings.TrimSpace(b) == "" {
		return a + b
	}
	return a + "," + b
}

// all reports whether every object of the namespace matches.
func (m *matcher) all() bool { return m.labels == nil && len(m.fields) == 0 && m.shards == nil }

func (m *matcher) match(obj metav1.Object) bool {
	if m.namespace != "" && obj.GetNamespace() != m.namespace {
		return false
	}
	for _, f := range m.fields {
		if (f.Operator == selection.NotEquals) == (m.value(obj, f.Field) == f.Value) {
			return false
		}
	}
	if m.labels != nil && !m.labels.Matches(labels.Set(obj.GetLabels())) {
		return false
	}
	return m.shards == nil || m.shards.Matches(obj)
}

func (m *matcher) value(obj metav1.Object, field string) string {
	if value := m.values[field]; value != nil {
		return value(obj)
	}
	if field == namespaceField {
		return obj.GetNamespace()
	}
	return obj.GetName()
}
