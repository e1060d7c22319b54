package fake_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
)

// TestShrinkARun finds, by seed, a run in which a naive client misses a pod, and boils it
// down to the one fault that is to blame.
func TestShrinkARun(t *testing.T) {
	chaos := func(seed int) string {
		return fmt.Sprintf("delay * * by=1s chance=0.3 seed=%d\nrefuse list * code=500 chance=0.3 seed=%d\ndrop watch * after=1 chance=0.3 seed=%d\n", seed, seed+1, seed+2)
	}
	naive := func(t *testing.T, script string) (struck string, err error) {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t, fake.Options{})
			check(t, s.Inject(must(faults.Parse(script))(t)...))
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
			struck = faults.Script(s.Struck())
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
		least, why := faults.Shrink(struck, func(script string) error { _, err := naive(t, script); return err })
		if why == nil || strings.Count(least, "\n") != 1 || !strings.HasPrefix(least, "drop watch pods after=1") {
			t.Errorf("seed %d: %v with %q, of\n%s", seed, why, least, struck)
		}
	}
	if failed == 0 {
		t.Error("no seed fails")
	}
}
