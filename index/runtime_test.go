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

// A program that knows its indexes only at run time defines them like any other, and finds them by their names.
func TestDefinedAtRunTime(t *testing.T) {
	defs := index.Of[partial](index.Namespace[partial]())
	for n := range 5 {
		defs = append(defs, index.By(fmt.Sprint("label ", n), func(obj partial) string { return obj.Labels[fmt.Sprint(n)] }))
	}
	s, err := store.New(store.ObjectKey[partial], store.Options[partial]{Indexes: defs})
	if err != nil {
		t.Fatal(err)
	}
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "a", Labels: map[string]string{"3": "x"}}}
	if err := s.Set(obj); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"namespace": "prod", "label 3": "x", "label 4": ""} {
		if got, err := s.Reader().Indexer().ByIndex(name, value); err != nil || len(got) != 1 || got[0] != obj {
			t.Errorf("%s=%s: got %v, %v", name, value, got, err)
		}
	}
	value := func(obj partial) string { return obj.Name }
	for name, want := range map[string]error{"new": nil, "label 0": index.ErrDuplicate, "": index.ErrInvalid} {
		if err := s.AddIndexes(index.By(name, value)); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", name, err, want)
		}
	}
	if err := s.AddIndexes(index.New[partial, string]("nil", nil)); !errors.Is(err, index.ErrInvalid) {
		t.Errorf("a nil function: got %v", err)
	}
}
