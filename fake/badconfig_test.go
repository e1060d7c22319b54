package fake_test

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/reflector"
)

// A config that cannot be applied is refused with the name of the resource.
func TestApplyOfNothing(t *testing.T) {
	s := fake.New(fake.Options{})
	check(t, fake.Register(s, podKind, fake.Rules{}))
	c, err := fake.NewClient[*pod](s, fake.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	opts := metav1.ApplyOptions{FieldManager: "m"}
	_, err = c.Apply(t.Context(), map[string]any{"metadata": map[string]any{"namespace": "a"}}, opts)
	if want := "fake: pods: the config of an apply: object has no metadata.name"; !errors.Is(err, reflector.ErrNoName) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = c.Apply(t.Context(), []string{"a"}, opts)
	if want := "fake: pods: the config of an apply is no object, but a []string"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
