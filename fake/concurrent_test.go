package fake_test

import (
	"fmt"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// TestConcurrentWriters: several goroutines write one object, and no write is lost. All blind
// patches arrive, and of updates from one version one wins.
func TestConcurrentWriters(t *testing.T) {
	const workers, rounds = 4, 100
	s := newServer(t, fake.Options{})
	must(fake.Create(s, newPod("a", "p")))(t)
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for round := range rounds {
				patch := fmt.Sprintf(`{"metadata":{"annotations":{"w%d-r%d":"x"}}}`, worker, round%20)
				if _, err := fake.Patch[*pod](s, key("a", "p"), []byte(patch)); err != nil {
					t.Error(err)
				}
				for {
					p, err := fake.Get[*pod](s, key("a", "p"))
					if err != nil {
						t.Error(err)
						return
					}
					if len(p.Spec.Ports) == 0 {
						p.Spec.Ports = []int64{0}
					}
					p.Spec.Ports[0]++
					if _, err = fake.Update(s, p); err == nil {
						break
					}
					if !apierrors.IsConflict(err) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	p := must(fake.Get[*pod](s, key("a", "p")))(t)
	if len(p.Annotations) != workers*20 || p.Spec.Ports[0] != workers*rounds {
		t.Errorf("%d annotations of %d, counted to %d of %d", len(p.Annotations), workers*20, p.Spec.Ports[0], workers*rounds)
	}
	if p.Generation != workers*rounds+1 {
		t.Errorf("generation %d after %d changes of the spec", p.Generation, workers*rounds)
	}
}

// TestWatchUnderWriters watches while others write, and expects each write once.
func TestWatchUnderWriters(t *testing.T) {
	const workers, rounds = 4, 500
	s := newServer(t, fake.Options{})
	src := must(fake.NewSource[*pod](s, fake.Selection{}))(t)
	var wg sync.WaitGroup
	defer wg.Wait()
	for worker := range workers {
		wg.Go(func() {
			for round := range rounds {
				if _, err := fake.Create(s, newPod("a", fmt.Sprintf("p-%d-%d", worker, round))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	n := 0
	for ev, err := range src.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"}) {
		check(t, err)
		if n++; ev.ResourceVersion != fmt.Sprint(n+1) {
			t.Fatalf("event %d at %s", n, ev.ResourceVersion)
		}
		if n == workers*rounds {
			break
		}
	}
}

// TestUpdateMeetsAnotherObject replaces the object by another one of its name during an update. An
// update without a uid applies to any object with the name.
func TestUpdateMeetsAnotherObject(t *testing.T) {
	s, meddle := fake.New(fake.Options{}), false
	check(t, fake.Register(s, kind.Of[*pod](v1, "pods"), fake.Rules{CheckName: func(string, bool) []string {
		if meddle {
			meddle = false
			must(fake.Delete[*pod](s, key("a", "p")))(t)
			must(fake.Create(s, newPod("a", "p")))(t)
		}
		return nil
	}}))
	first := must(fake.Create(s, newPod("a", "p")))(t)
	blind := newPod("a", "p")
	blind.Spec.Node, meddle = "n", true
	got := must(fake.Update(s, blind))(t)
	if now := must(fake.Get[*pod](s, key("a", "p")))(t); got.UID == first.UID || got.UID != now.UID || now.Spec.Node != "n" {
		t.Errorf("updated %s to %s, stored %s", first.UID, got.UID, now.UID)
	}
	got.Spec.Node, meddle = "m", true
	_, err := fake.Update(s, got)
	wantStatus(t, err, 409, metav1.StatusReasonConflict)
}
