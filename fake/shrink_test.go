package fake_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
)

// TestShrink hides some lines that are needed together among many that are not.
func TestShrink(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		var lines, needed []string
		for i := range 1 + r.IntN(40) {
			lines = append(lines, fmt.Sprintf("line %d\n", i))
			if r.IntN(8) == 0 {
				needed = append(needed, lines[i])
			}
		}
		runs := 0
		got, err := fake.Shrink("# a comment\n"+strings.Join(lines, "\n"), func(script string) error {
			runs++
			have := strings.SplitAfter(script, "\n")
			for _, n := range needed {
				if !slices.Contains(have, n) {
					return nil
				}
			}
			return fmt.Errorf("fails with %d lines", len(have)-1)
		})
		if want := strings.Join(needed, ""); got != want || err == nil || err.Error() != fmt.Sprintf("fails with %d lines", len(needed)) {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
		if n := len(lines); runs > n*n+2*n+4 {
			t.Errorf("%d runs for %d lines", runs, n)
		}
	}
	if got, err := fake.Shrink("drop\n", func(string) error { return nil }); got != "drop\n" || err != nil {
		t.Errorf("what does not fail is shrunk to %q, %v", got, err)
	}
}

// TestShrinkARun finds, by seed, a run in which a naive client misses a pod, and boils it
// down to the one fault that is to blame.
func TestShrinkARun(t *testing.T) {
	chaos := func(seed int) string {
		return fmt.Sprintf("delay * * by=1s chance=0.3 seed=%d\nrefuse list * code=500 chance=0.3 seed=%d\ndrop watch * after=1 chance=0.3 seed=%d\n", seed, seed+1, seed+2)
	}
	naive := func(t *testing.T, script string) (struck string, err error) {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t, fake.Options{})
			check(t, s.Inject(must(fake.ParseScript(script))(t)...))
			src := must(fake.NewSource[*pod](s, fake.Selection{}))(t)
			seconds, seen := int64(5), 0
			for i := range 6 {
				_, _, _ = list(t, s, fake.Selection{}, metav1.ListOptions{})
				rv := s.ResourceVersion()
				must(fake.Create(s, newPod("a", fmt.Sprintf("p%d", 2*i))))(t)
				must(fake.Create(s, newPod("a", fmt.Sprintf("p%d", 2*i+1))))(t)
				for _, broken := range src.Watch(t.Context(), metav1.ListOptions{ResourceVersion: rv, TimeoutSeconds: &seconds}) {
					if broken == nil { // otherwise it just goes on, and that is the mistake
						seen++
					}
				}
				time.Sleep(time.Second)
			}
			if seen != 12 {
				err = errors.New("pods are missing")
			}
			struck = fake.Script(s.Struck())
		})
		return struck, err
	}
	failed := 0
	for seed := range 10 {
		struck, err := naive(t, chaos(seed))
		if err == nil {
			continue
		}
		failed++
		least, why := fake.Shrink(struck, func(script string) error { _, err := naive(t, script); return err })
		if why == nil || strings.Count(least, "\n") != 1 || !strings.HasPrefix(least, "drop watch pods after=1") {
			t.Errorf("seed %d: %v with %q, of\n%s", seed, why, least, struck)
		}
	}
	if failed == 0 {
		t.Error("no seed fails")
	}
}
