package sim_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kinform/kinform/client"
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

// Clients draw the end of a watch by lot. That is no difference between two runs.
func TestWatchesByLot(t *testing.T) {
	played := 0
	found := sim.Again(t, func() sim.Program {
		played++
		ends := 100 / played // seconds
		p := planted.Tickets()
		from := p.Server.ResourceVersion()
		p.Users = func(w *sim.World) error { w.Wait(10 * time.Minute); return nil }
		p.Run = func(ctx context.Context, to client.Connection) error {
			// The first one is refused, as a streaming list is by servers that lack it.
			for version := "x"; ctx.Err() == nil; version = from {
				url := fmt.Sprintf("%s/apis/example.com/v1/configs?watch=true&timeoutSeconds=%d&resourceVersion=%s", to.URL, ends, version)
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
				if err != nil {
					return err
				}
				if answer, err := to.HTTP.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, answer.Body)
					_ = answer.Body.Close()
				}
			}
			return nil
		}
		return p
	}, "")
	if found != "" {
		t.Error(found)
	}
}

// TestSameReport explores a program twice that has a bug, which only the 133rd schedule shows. The reports are the same, with
// the rows of the transcript in them.
func TestSameReport(t *testing.T) {
	first, second := sim.Search(t, planted.StaleDeletion, 200), sim.Search(t, planted.StaleDeletion, 200)
	if first == nil || len(first.Text) < 500 {
		t.Fatalf("the bug was not found: %+v", first)
	}
	if d := cmp.Diff(first, second); d != "" {
		t.Error(d)
	}
	// It names what users wrote, and what the process saw after the crash.
	for _, want := range []string{"users go on, and write shops.example.com prod/shop\n", "process 1: list shops.example.com * → 200"} {
		if !strings.Contains(first.Text, want) {
			t.Errorf("got\n%s\nwant %q in it", first.Text, want)
		}
	}
}
