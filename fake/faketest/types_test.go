package faketest_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// pod is the kind of the tests, as a user writes one.
type pod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              podSpec `json:"spec"`
}

type podSpec struct {
	Node string `json:"node,omitempty"`
}

var podKind = kind.Of[*pod](schema.GroupVersion{Version: "v1"}, "pods")

func newPod(namespace, name string) *pod {
	return &pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func newServer(t testing.TB) *fake.Server {
	t.Helper()
	return serverWith(t, fake.Options{})
}

func serverWith(t testing.TB, opts fake.Options) *fake.Server {
	t.Helper()
	s := fake.New(opts)
	check(t, fake.Register(s, podKind, fake.Rules{}))
	return s
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must is for calls whose failure the test does not study.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return v
	}
}
