package typeconverter_test

import (
	"errors"
	"slices"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/kinform/kinform/internal/typeconverter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLazy(t *testing.T) {
	calls := 0
	c := typeconverter.Lazy(func() (managedfields.TypeConverter, error) {
		calls++
		return managedfields.NewDeducedTypeConverter(), nil
	})
	if calls != 0 {
		t.Error("made before its first use")
	}
	in := &unstructured.Unstructured{Object: map[string]any{"kind": "Widget", "apiVersion": "example.com/v1"}}
	value, err := c.ObjectToTyped(in)
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.TypedToObject(value)
	if err != nil || out.GetObjectKind().GroupVersionKind().Kind != "Widget" || calls != 1 {
		t.Errorf("%v, %v, made %d times", out, err, calls)
	}
}

func TestLazyFails(t *testing.T) {
	bad := errors.New("bad schema")
	c := typeconverter.Lazy(func() (managedfields.TypeConverter, error) { return nil, bad })
	if _, err := c.ObjectToTyped(&unstructured.Unstructured{}); err != bad {
		t.Error(err)
	}
	if _, err := c.TypedToObject(nil); err != bad {
		t.Error(err)
	}
}

// TestChoose: each object has its own converter, and a value that was made becomes an object by that for nil.
func TestChoose(t *testing.T) {
	var asked []string
	bad := errors.New("unknown kind")
	c := typeconverter.Choose(func(obj runtime.Object) (managedfields.TypeConverter, error) {
		if obj == nil {
			asked = append(asked, "nil")
			return managedfields.NewDeducedTypeConverter(), nil
		}
		asked = append(asked, obj.GetObjectKind().GroupVersionKind().Kind)
		if asked[len(asked)-1] == "Bad" {
			return nil, bad
		}
		return managedfields.NewDeducedTypeConverter(), nil
	})
	value, err := c.ObjectToTyped(&unstructured.Unstructured{Object: map[string]any{"kind": "Widget"}})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := c.TypedToObject(value); err != nil || out.(*unstructured.Unstructured).GetKind() != "Widget" {
		t.Errorf("%v, %v", out, err)
	}
	if _, err := c.ObjectToTyped(&unstructured.Unstructured{Object: map[string]any{"kind": "Bad"}}); err != bad {
		t.Error(err)
	}
	if !slices.Equal(asked, []string{"Widget", "nil", "Bad"}) {
		t.Errorf("asked for %q", asked)
	}
}
