package index_test

import (
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/store"
)

type partial = *metav1.PartialObjectMetadata

// Indexes made of a map are found by their names, and are added in the order of these.
func TestFuncs(t *testing.T) {
	funcs := index.Funcs[partial]{index.NamespaceIndex: index.NamespaceOf[partial]}
	for n := range 5 {
		funcs[fmt.Sprint("label ", n)] = func(dst []string, obj partial) []string { return append(dst, obj.Labels[fmt.Sprint(n)]) }
	}
	defs := funcs.Definitions()
	s, err := store.New(store.ObjectKey[partial], store.Options[partial]{Indexes: defs})
	if err != nil {
		t.Fatal(err)
	}
	for n, def := range defs {
		if n > 0 && defs[n-1].Name() >= def.Name() {
			t.Errorf("%q comes before %q", defs[n-1].Name(), def.Name())
		}
	}
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "a", Labels: map[string]string{"3": "x"}}}
	if err := s.Set(obj); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{index.NamespaceIndex: "prod", "label 3": "x", "label 4": ""} {
		if got, err := s.Reader().Indexer().ByIndex(name, value); err != nil || len(got) != 1 || got[0] != obj {
			t.Errorf("%s=%s: got %v, %v", name, value, got, err)
		}
	}
	for name, want := range map[string]error{"new": nil, "label 0": index.ErrDuplicate, "": index.ErrInvalid} {
		if err := s.AddIndexes(index.Funcs[partial]{name: index.NamespaceOf[partial]}.Definitions()...); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", name, err, want)
		}
	}
	if err := s.AddIndexes(index.Funcs[partial]{"nil": nil}.Definitions()...); !errors.Is(err, index.ErrInvalid) {
		t.Errorf("a nil function: got %v", err)
	}
}
