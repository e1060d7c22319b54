package sim_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/fake/sim/internal/planted"
)

// TestScriptRefused reads schedules that make no sense. The error says which line, and why.
func TestScriptRefused(t *testing.T) {
	for text, want := range map[string]string{
		"explode create pods prod/a":                               `line 1 of the script: unknown action "explode"`,
		"# fine\n\ncrash create pods":                              `line 3 of the script: unknown action "crash create"`,
		"lose create pods":                                         "lose: want a verb, a resource and a key",
		"lose create pods prod/a by=3s":                            `lose: unknown argument "by"`,
		"refuse create pods prod/a":                                "refuse: code is missing",
		"refuse create pods prod/a code=200":                       "refuse: code=200: want a number from 400 to 599",
		"late create pods prod/a":                                  "late: by=: want a duration",
		"delay create pods prod/a by=-1s":                          "delay: by=-1s: want a duration",
		"delay create pods prod/a by=61m":                          "delay: by=1h1m0s: want at most an hour",
		"delay create pods prod/a by=1s by=2s":                     `"by=2s": want name=value, each name once`,
		"lose step of users":                                       "want hold or blind at a step of users",
		"hold create pods prod/a by=30s":                           "hold: watch is missing",
		"crash after create pods prod/a call=0":                    "call=0: want a number from 1",
		"crash after create pods prod/a call=2 behind=x":           "behind=x: want a number from 1",
		"crash before get pods prod/a call=9999999999999999999999": "want a number from 1",
	} {
		if _, err := sim.Reread(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzScript reads any text. What can be read is written as text that means the same.
func FuzzScript(f *testing.F) {
	f.Add("crash after create deployments.apps prod/shop call=2 behind=3\nhold patch pods * by=30s watch=pods # why\n")
	f.Add("refuse update pods/status prod/a code=409\ndelay list pods prod/ by=1m30s\nfreeze get nodes n1 by=40s")
	f.Fuzz(func(t *testing.T, text string) {
		once, err := sim.Reread(text)
		if err != nil {
			return
		}
		if twice, err := sim.Reread(once); err != nil || twice != once {
			t.Errorf("%q became %q and then %q, %v", text, once, twice, err)
		}
	})
}

// What a controller reports about loops is a finding of Replay, too.
func TestReplayFindsLoopsInLogs(t *testing.T) {
	got := sim.Again(t, func() sim.Program {
		p := planted.Tickets()
		p.Run = func(ctx context.Context, to client.Connection) error {
			slog.Error("reconcile runs in a loop", "key", "prod/shop")
			return idle(ctx, to)
		}
		return p
	}, "")
	if !strings.Contains(got, `rule "loop"`) || !strings.Contains(got, "key=prod/shop") {
		t.Errorf("got %q", got)
	}
}

// The report of a large difference has its first lines only.
func TestLargeDifference(t *testing.T) {
	played := 0
	got := sim.Again(t, func() sim.Program {
		played++
		value := strings.Repeat(fmt.Sprint(played/4), 20) // another one after the two schedules without faults, for which there are three calls
		p := planted.Tickets()
		p.Run = idle
		p.Users = func(w *sim.World) error {
			config := fake.Object(&planted.Config{Data: map[string]string{}}, "prod", "large")
			for i := range 500 {
				config.Data[fmt.Sprint(i)] = value
			}
			_, err := fake.Create(w.Server, config)
			return err
		}
		return p
	}, "")
	if !strings.Contains(got, `rule "converges"`) || !strings.Contains(got, "bytes more") || len(got) > 20_000 {
		t.Errorf("%d bytes: %.2000s", len(got), got)
	}
}
