package logs

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// known is an error that says of itself what there is to log.
type known struct{ cause error }

func (k known) Error() string { return "pods: " + k.cause.Error() }

func (k known) LogValue() slog.Value {
	return slog.GroupValue(slog.String(Message, "it broke"), slog.String("resource", "pods"), slog.Any("error", k.cause))
}

// plain is a LogValuer whose value is no group.
type plain struct{ error }

func (plain) LogValue() slog.Value { return slog.StringValue("whatever") }

// many is a LogValuer of a type that has no ==.
type many []error

func (m many) Error() string        { return errors.Join(m...).Error() }
func (m many) LogValue() slog.Value { return slog.GroupValue(slog.Int("n", len(m))) }

// broken is a LogValuer that panics.
type broken struct{ error }

func (b *broken) LogValue() slog.Value { return slog.StringValue(b.error.Error()) }

func TestRecords(t *testing.T) {
	cause := errors.New("cause")
	for _, c := range []struct {
		name  string
		write func(l Log)
		want  string
	}{
		{"an error", func(l Log) { l.Error(cause) }, `level=WARN msg="part: something failed" resource=widgets error=cause` + "\n"},
		{"one with attributes", func(l Log) { l.Error(known{cause}) }, `level=WARN msg="part: it broke" resource=pods error=cause` + "\n"},
		{"wrapped", func(l Log) { l.Error(fmt.Errorf("on: %w", known{cause})) }, `level=WARN msg="part: it broke" resource=pods error="on: pods: cause"` + "\n"},
		{"another LogValuer", func(l Log) { l.Error(plain{cause}) }, `level=WARN msg="part: something failed" resource=widgets error=whatever` + "\n"},
		{"one that cannot be compared", func(l Log) { l.Error(many{cause}) }, `level=WARN msg="part: something failed" resource=widgets n=1` + "\n"},
		{"with a key", func(l Log) { l.KeyError("a/b", "work failed", cause) }, `level=WARN msg="part: work failed" resource=widgets key=a/b error=cause` + "\n"},
		{"with a key and attributes", func(l Log) { l.KeyError("a/b", "work failed", known{cause}) }, `level=WARN msg="part: it broke" key=a/b resource=pods error=cause` + "\n"},
		{"what happened", func(l Log) { l.Debug("runs", slog.Int("n", 1)) }, `level=DEBUG msg="part: runs" resource=widgets n=1` + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			to := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: noTime}))
			c.write(Log{To: to, Part: "part", Resource: "widgets"})
			if out.String() != c.want {
				t.Errorf("got %s, want %s", out.String(), c.want)
			}
		})
	}
}

func TestLogValueThatPanics(t *testing.T) {
	var out bytes.Buffer
	Log{To: slog.New(slog.NewTextHandler(&out, nil)), Part: "part", Resource: "widgets"}.Error((*broken)(nil))
	if !strings.Contains(out.String(), "resource=widgets") || !strings.Contains(out.String(), "panic") {
		t.Errorf("got %s", out.String())
	}
}

func noTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
