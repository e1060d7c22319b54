package sim_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/fake/sim/internal/planted"
	"github.com/kinform/kinform/internal/longtest"
)

// mostSchedules bounds the search for a planted bug. docs/find-bugs.md has the number.
const mostSchedules = 200

// Each planted bug is found, by a script of at most ten lines, which shows it again.
func TestFindsPlantedBugs(t *testing.T) {
	for _, bug := range planted.Bugs() {
		t.Run(bug.Name, func(t *testing.T) {
			begun := time.Now()
			found := sim.Search(t, bug.Program, mostSchedules)
			if found == nil || found.Rule == "" {
				t.Fatalf("it was not found in %d schedules: %+v", mostSchedules, found)
			}
			t.Logf("%s: rule %q after %d schedules, in %v:\n%s", bug.Pattern, found.Rule, found.Schedules, time.Since(begun), found.Script)
			if n := strings.Count(found.Script, "\n"); n < 1 || n > 10 {
				t.Errorf("the script has %d lines, want one to ten:\n%s", n, found.Script)
			}
			if again := sim.Again(t, bug.Program, found.Script); again != found.Text {
				t.Errorf("the script shows\n%s\nand the search had\n%s", again, found.Text)
			}
		})
	}
}

// In correct programs nothing is found.
func TestFindsNothingInCorrectPrograms(t *testing.T) {
	for _, program := range planted.Correct() {
		t.Run(program.Name, func(t *testing.T) {
			if found := sim.Search(t, program.Program, longtest.N(300, 10_000)); found != nil {
				t.Error(found.Text)
			}
		})
	}
}

// A process that loses one of its two leases goes on with what the other one is for.
func TestTwoLeases(t *testing.T) {
	for _, lease := range []string{"configs", "statuses"} {
		const lose, freeze = "lose patch leases.coordination.k8s.io prod/", "freeze patch leases.coordination.k8s.io prod/"
		for _, schedule := range []string{lose + lease, lose + lease + " call=2", freeze + lease + " by=40s"} {
			if found := sim.Again(t, planted.TwoLeases, schedule); found != "" {
				t.Error(found)
			}
		}
	}
}

// No rule of leases holds for a program that ignores them.
func TestIgnoresRules(t *testing.T) {
	found := sim.Search(t, planted.NoFence, mostSchedules)
	if found == nil || found.Rule != "lease" {
		t.Fatalf("found %+v", found)
	}
	again := sim.Again(t, func() sim.Program {
		p := planted.NoFence()
		p.Ignore = append(p.Ignore, "rule lease")
		return p
	}, found.Script)
	if strings.Contains(again, `rule "lease"`) {
		t.Error(again)
	}
}

// alphas are in a version that is not the preferred one of their group.
var alphas = kinform.KindOf[*secret](schema.GroupVersion{Group: "example.com", Version: "v1alpha1"}, "alphas")

// A resource that the preferred version of its group lacks is seen, too.
func TestSeesEachVersion(t *testing.T) {
	got := sim.Again(t, func() sim.Program {
		p := planted.Tickets()
		if err := fake.Register(p.Server, alphas, fake.Rules{}); err != nil {
			t.Error(err)
		}
		p.Run = func(ctx context.Context, to client.Connection) error {
			_, err := kinform.Open(to, alphas).Create(ctx, fake.Object(&secret{}, "prod", "left"), metav1.CreateOptions{})
			return errors.Join(err, idle(ctx, to))
		}
		return p
	}, "")
	if !strings.Contains(got, "alphas.example.com prod/left is left") {
		t.Errorf("got %q", got)
	}
}
