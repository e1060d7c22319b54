package client_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/reflector"
)

var _ reflector.Source[*widget] = (*client.Resource[*widget])(nil)

func isObjectError(err error) bool {
	var oe *reflector.ObjectError
	return errors.As(err, &oe)
}

func widgetJSON(name string, rv, size int) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"ns","resourceVersion":"%d"},"spec":{"size":%d}}`, name, rv, size)
}

func TestListTyped(t *testing.T) {
	body := `{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"12","continue":"tok"},"items":[` +
		widgetJSON("a", 10, 1) + "," + widgetJSON("b", 11, 2) + "]}\n"
	r := newResource[*widget](t, answer(t, body), client.Options{})
	got := list(t.Context(), r, metav1.ListOptions{})
	if got.err != nil || got.errs != nil {
		t.Fatal(got.err, got.errs)
	}
	if want := (metav1.ListMeta{ResourceVersion: "12", Continue: "tok"}); !cmp.Equal(got.meta, want) {
		t.Error(cmp.Diff(want, got.meta))
	}
	want := []reflector.Event[*widget]{
		{Type: reflector.Added, ResourceVersion: "10", Object: &widget{
			TypeMeta:   metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Widget"},
			ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", ResourceVersion: "10"},
			Spec:       widgetSpec{Size: 1},
		}},
		{Type: reflector.Added, ResourceVersion: "11", Object: &widget{
			TypeMeta:   metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Widget"},
			ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "ns", ResourceVersion: "11"},
			Spec:       widgetSpec{Size: 2},
		}},
	}
	if d := cmp.Diff(want, got.events); d != "" {
		t.Error(d)
	}
}
