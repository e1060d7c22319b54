package index_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/index"
)

// The sizes of indexes are right after random writes, which the store's Check confirms as well.
func TestStats(t *testing.T) {
	tags := index.New("tags", func(dst []string, p *pod) []string { return append(dst, strings.Fields(p.Labels["tags"])...) })
	s := newPods(t, nil, tags, byNode())
	if got := s.Indexer().Stats(); !slices.Equal(got, []index.Stats{{Name: "node"}, {Name: "tags"}}) {
		t.Errorf("empty: got %+v", got)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		p := newPod("a", strconv.Itoa(r.IntN(300)), []string{"", "n1", "n2", "n3"}[r.IntN(4)], map[string]string{"tags": []string{"", "x", "x y", "y z"}[r.IntN(4)]})
		var err error
		if r.IntN(3) == 0 {
			_, _, err = s.Delete(types.NamespacedName{Namespace: "a", Name: p.Name})
		} else {
			err = s.Set(p)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	want := []index.Stats{{Name: "node"}, {Name: "tags"}}
	for i, of := range []func(*pod) []string{
		func(p *pod) []string { return strings.Fields(p.node) }, func(p *pod) []string { return strings.Fields(p.Labels["tags"]) },
	} {
		counts := map[string]int{}
		for _, p := range s.List() {
			for _, v := range of(p) {
				counts[v]++
				want[i].Entries++
				want[i].Largest = max(want[i].Largest, counts[v])
			}
		}
		want[i].Values = len(counts)
	}
	if got := s.Indexer().Stats(); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	if frozen := s.Reader().Freeze().Indexer().Stats(); !slices.Equal(frozen, want) {
		t.Errorf("frozen: got %+v", frozen)
	}
}

// A sample is spread over the store, and has what there is if that is little.
func TestSample(t *testing.T) {
	s := newPods(t, nil)
	for i := range 1000 {
		if err := s.Set(newPod("a", strconv.Itoa(i), "", nil)); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(s.Reader().Sample(16)); got != 16 {
		t.Errorf("%d objects, want 16", got)
	}
	for i := range 990 {
		if _, _, err := s.Delete(types.NamespacedName{Namespace: "a", Name: strconv.Itoa(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(s.Reader().Sample(100)); got == 0 || got > 10 {
		t.Errorf("%d objects of 10", got)
	}
}
