package pipeline_test

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/informer/pipeline"
)

// TestLog: without OnError, failures of the process function are logged with resource and key.
// Events are not logged.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create("good", 1)
		w.create("poor", 1)
		var out bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&out, nil))
		failed := false
		_, stop := w.run(func(k key, ds deltas) error {
			if k.Name == "poor" && !failed {
				failed = true
				return errors.New("not now")
			}
			return w.take(k, ds)
		}, pipeline.Options[key, *thing]{Logger: logger})
		time.Sleep(time.Minute)
		w.must(stop())
		want := `time=2000-01-01T00:00:00.000Z level=WARN msg="pipeline: processing failed" resource=things.example.com key=a/poor failed=1 error="not now"` + "\n"
		if out.String() != want {
			t.Errorf("got  %swant %s", out.String(), want)
		}
	})
}
