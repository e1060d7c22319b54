package client_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
)

// A client for another namespace has the first one's options, and its own numbers.
func TestInNamespace(t *testing.T) {
	var paths []string
	conn := serve(t, func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path+"?"+r.URL.Query().Get("labelSelector"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"w","namespace":"b"}}]}`))
	})
	all, err := client.New(conn, kind.OfResource[*widget](widgets), client.Options{LabelSelector: "app=x"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := client.InNamespace(all, "b")
	if err != nil {
		t.Fatal(err)
	}
	if got := list(t.Context(), b, metav1.ListOptions{}); got.err != nil || len(got.events) != 1 {
		t.Errorf("list: %+v", got)
	}
	if len(paths) != 1 || !strings.HasSuffix(paths[0], "/namespaces/b/widgets?app=x") {
		t.Errorf("asked for %v", paths)
	}
	if !strings.Contains(b.Resource(), "namespace b") || b.Stats().Objects != 1 || all.Stats().Objects != 0 {
		t.Errorf("%s has %+v, the first one %+v", b.Resource(), b.Stats(), all.Stats())
	}
	if _, err := client.InNamespace(all, "a/b"); err == nil || !strings.Contains(err.Error(), "widgets") {
		t.Errorf("a bad name: %v", err)
	}
	everywhere, err := client.New(conn, kind.OfResource[*widget](widgets).Cluster(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.InNamespace(everywhere, "b"); !errors.Is(err, client.ErrScope) {
		t.Errorf("a namespace of a cluster-scoped kind: %v", err)
	}
}
