package sim_test

import (
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/fake/sim/internal/planted"
)

// TestSameAgain plays single faults twice. Each time the same happens, in the same order.
func TestSameAgain(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.DiscardHandler))
	for _, program := range planted.Correct() {
		t.Run(program.Name, func(t *testing.T) {
			first, second := sim.Transcripts(t, program.Program, 4), sim.Transcripts(t, program.Program, 4)
			if d := cmp.Diff(first, second); d != "" {
				t.Error(d)
			}
			if len(first) < 10 {
				t.Errorf("only %d faults", len(first))
			}
		})
	}
}

// TestSameReport explores a program twice that has a bug, which only the 153rd schedule shows. The reports are the same, with
// the rows of the transcript in them.
func TestSameReport(t *testing.T) {
	first, second := sim.Search(t, planted.StaleDeletion, 200), sim.Search(t, planted.StaleDeletion, 200)
	if first == nil || len(first.Text) < 500 {
		t.Fatalf("the bug was not found: %+v", first)
	}
	if d := cmp.Diff(first, second); d != "" {
		t.Error(d)
	}
}
