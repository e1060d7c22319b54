package store_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/store"
)

type pod struct {
	metav1.ObjectMeta
	node string
}

func TestBasic(t *testing.T) {
	byNode := index.New("node", func(dst []string, p *pod) []string { return append(dst, p.node) })
	s, err := store.New(store.ObjectKey, store.Options[*pod]{Indexes: []index.Definition[*pod]{byNode, index.Namespace[*pod]()}})
	if err != nil {
		t.Fatal(err)
	}
	p := &pod{metav1.ObjectMeta{Namespace: "a", Name: "b"}, "n1"}
	if err := s.Set(p); err != nil {
		t.Fatal(err)
	}
	if got := byNode.Get(s, "n1"); len(got) != 1 {
		t.Fatal(got)
	}
	if got, ok := s.Get(types.NamespacedName{Namespace: "a", Name: "b"}); !ok || got != p {
		t.Fatal(got)
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	if err := s.Replace(nil, "5"); err != nil || s.Len() != 0 || s.ResourceVersion() != "5" {
		t.Fatal(err)
	}
}
