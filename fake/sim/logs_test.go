package sim_test

import (
	"bytes"
	"log"
	"log/slog"
	"strings"
	"testing"

	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/fake/sim/internal/planted"
)

// What tests log after they have explored a program goes where it went before.
func TestLogsComeBack(t *testing.T) {
	var out bytes.Buffer
	defer log.SetOutput(log.Writer())
	log.SetOutput(&out)
	if found := sim.Search(t, planted.Tickets, 3); found != nil {
		t.Fatal(found.Text)
	}
	if out.Len() > 0 {
		t.Errorf("it logged %q", &out)
	}
	log.Print("one")
	slog.Info("two")
	if got := out.String(); !strings.Contains(got, "one") || !strings.Contains(got, "two") {
		t.Errorf("got %q", got)
	}
}
