package debug_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/debug"
	"github.com/kinform/kinform/fake"
)

// A story says why the key was reconciled, why it runs and why it waits: with the fields that changed, and without their
// values.
func TestCauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(t, debug.Options{Reconciles: 100})
		for range 4 {
			p.control.Queue().Add(key{Namespace: "a", Name: "good\u202e"})
		}
		stop := p.start("bad", "good", "slow")
		good, err := fake.Get[*Secret](p.server, key{Namespace: "a", Name: "good"})
		if err != nil {
			t.Fatal(err)
		}
		first := good.ResourceVersion
		good.Data["password"] = "hidden-value 2"
		if good, err = fake.Update(p.server, good); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		expect := func(what string, got []string, want ...string) {
			t.Helper()
			if !slices.Equal(got, want) {
				t.Errorf("%s: got %q, want %q", what, got, want)
			}
		}
		calls := p.story("a/good").Controllers[0].Reconciles
		expect("the update", calls[0].Causes, "secrets a/good updated "+first+" → "+good.ResourceVersion+": data.password")
		expect("the list", calls[1].Causes, "secrets a/good found "+first)
		expect("merged", p.story(`a/good\u202e`).Controllers[0].Reconciles[0].Causes, "added by hand", "added by hand", "added by hand", "and 1 before")
		bad, err := fake.Get[*Secret](p.server, key{Namespace: "a", Name: "bad"})
		if err != nil {
			t.Fatal(err)
		}
		expect("it waits", p.story("a/bad").Controllers[0].Causes, "retry", "secrets a/bad found "+bad.ResourceVersion)
		lists := p.state("/state.json").Controllers[0]
		expect("lists", []string{lists.DelayedKeys[0].Cause, lists.FailingKeys[0].Cause},
			"secrets a/bad found "+bad.ResourceVersion, "secrets a/bad found "+bad.ResourceVersion)
		if runs := lists.RunningKeys[0]; runs.Key != "a/slow" || !strings.HasPrefix(runs.Cause, "secrets a/slow found") {
			t.Errorf("it runs: got %+v", runs)
		}
		if slow := p.story("a/slow").Controllers[0].Causes; len(slow) != 1 || !strings.HasPrefix(slow[0], "secrets a/slow found") {
			t.Errorf("it runs: got %q", slow)
		}
		if body := get(p.page, "/story.json?key=a/good").Body.String(); strings.Contains(body, "hidden-value") {
			t.Errorf("got %s", body)
		}
		stop()
	})
}
