package client_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
)

// A removal has the object's UID, whether the server answers with the object or with a Status, and whatever form T has.
func TestRemovalHasUID(t *testing.T) {
	const object = `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"namespace":"a","name":"x","uid":"u"}}`
	const status = `{"kind":"Status","apiVersion":"v1","status":"Success","details":{"name":"x","uid":"u"}}`
	checkRemoval[*widget](t, object, true)
	checkRemoval[widget](t, object, true)
	checkRemoval[*widget](t, status, false)
	checkRemoval[widget](t, status, false)
}

func checkRemoval[T any](t *testing.T, body string, answered bool) {
	t.Helper()
	r := newNamed[T](t, bodies(body), "Widget", client.Options{})
	got, err := r.Remove(t.Context(), types.NamespacedName{Namespace: "a", Name: "x"}, metav1.DeleteOptions{})
	if err != nil || got.UID != "u" || got.Answered != answered {
		t.Errorf("%T: %+v, error %v", *new(T), got, err)
	}
}
