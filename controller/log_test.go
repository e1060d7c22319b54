package controller_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/controller"
)

// TestLog: a key that could not be reconciled is logged with the key and the error, and one
// that could is not.
func TestLog(t *testing.T) {
	for level, want := range map[slog.Level]string{
		slog.LevelInfo:  warning,
		slog.LevelDebug: `level=DEBUG msg="controller of gadgets: runs"` + "\n" + `level=DEBUG msg="controller of gadgets: caches are filled"` + "\n" + warning + `level=DEBUG msg="controller of gadgets: has stopped"` + "\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			server, inf := setup(t)
			create(t, server, newGadget("good", "x"))
			create(t, server, newGadget("poor", "x"))
			var out bytes.Buffer
			c, runC := delayed("of gadgets", controller.Options[key]{Logger: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level}))})
			controller.For(c, inf)
			failed := false
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				ended <- runC(ctx, func(_ context.Context, k key) error {
					if k.Name == "poor" && !failed {
						failed = true
						return errors.New("not now")
					}
					return nil
				})
			}()
			synctest.Wait()
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if got := strings.ReplaceAll(out.String(), "time=2000-01-01T00:00:00.000Z ", ""); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

const warning = `level=WARN msg="controller of gadgets: reconcile failed" key=a/poor error="not now" cause="gadgets a/poor found 3"` + "\n"

// TestLogOfIdle: Run without a watch says so once, unless a key is queued.
func TestLogOfIdle(t *testing.T) {
	for name, test := range map[string]struct {
		queue func(*controller.Controller[key])
		want  string
	}{
		"nothing": {func(*controller.Controller[key]) {}, `level=WARN msg="controller idle: nothing is watched and no key is queued: call For or Watch, or add keys to Queue"` + "\n"},
		"a key":   {func(c *controller.Controller[key]) { c.Queue().Add(key{Name: "a"}) }, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			c := controller.New("idle", nothing, controller.Options[key]{Logger: slog.New(slog.NewTextHandler(&out, nil))})
			test.queue(c)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- c.Run(ctx) }()
			time.Sleep(time.Hour)
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if got := strings.ReplaceAll(out.String(), "time=2000-01-01T00:00:00.000Z ", ""); got != test.want {
				t.Errorf("%s: got %s", name, got)
			}
		})
	}
}

// TestLogOfObjectWithoutNamespace: such a key is logged as the name of the object.
func TestLogOfObjectWithoutNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		c, runC := delayed("", controller.Options[key]{Logger: slog.New(slog.NewTextHandler(&out, nil))})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- runC(ctx, func(context.Context, key) error { return controller.Terminal(errors.New("bad")) })
		}()
		c.Queue().Add(key{Name: "node-1"})
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if !strings.Contains(out.String(), "key=node-1 ") {
			t.Errorf("the log is %s", out.String())
		}
	})
}
