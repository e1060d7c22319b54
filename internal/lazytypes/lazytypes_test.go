package lazytypes_test

import (
	"errors"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/kinform/kinform/internal/lazytypes"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNew(t *testing.T) {
	calls := 0
	c := lazytypes.New(func() (managedfields.TypeConverter, error) {
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

func TestNewFails(t *testing.T) {
	bad := errors.New("bad schema")
	c := lazytypes.New(func() (managedfields.TypeConverter, error) { return nil, bad })
	if _, err := c.ObjectToTyped(&unstructured.Unstructured{}); err != bad {
		t.Error(err)
	}
	if _, err := c.TypedToObject(nil); err != bad {
		t.Error(err)
	}
}
