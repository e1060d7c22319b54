package live

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		s     string
		width int
		want  string
	}{
		{"", 0, ""},
		{"abc", -1, ""},
		{"abc", 0, ""},
		{"abc", 1, "…"},
		{"abc", 2, "a…"},
		{"abc", 3, "abc"},
		{"äöü", 2, "ä…"},
		{"abc", 9, "abc"},
	} {
		if got := cut(tt.s, tt.width); got != tt.want {
			t.Errorf("cut(%q, %d) = %q, want %q", tt.s, tt.width, got, tt.want)
		}
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                     "plain",
		"two\nlines\tand a tab":     "two lines and a tab",
		"\x1b[31mred\x1b[0m\x07":    "[31mred[0m",
		"\u202eright to left":       "right to left",
		"bad \xff bytes, \u2026 ok": "bad \ufffd bytes, \u2026 ok",
	} {
		if got := printable(in); got != want {
			t.Errorf("printable(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 12345: "12,345", 999999: "999,999", 1234567: "1,234,567",
	} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestBar(t *testing.T) {
	for _, tt := range []struct {
		part float64
		full int
	}{{-1, 0}, {0, 0}, {0.04, 0}, {0.05, 1}, {0.5, 5}, {0.94, 9}, {1, 10}, {7, 10}} {
		full, rest := bar(tt.part, 10)
		if n := utf8.RuneCountInString(full); n != tt.full || n+utf8.RuneCountInString(rest) != 10 {
			t.Errorf("bar(%v) = %q, %q, want %d full ones of 10", tt.part, full, rest, tt.full)
		}
	}
}

func TestGraph(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   string
	}{
		{nil, ""},
		{[]float64{0, 0}, "▁▁"},
		{[]float64{-1, 7}, "▁█"},
		{[]float64{0, 1, 2, 3, 4, 5, 6, 7}, "▃▄▅▆▇█"},
	} {
		if got := graph(tt.values, 6); got != tt.want {
			t.Errorf("graph(%v) = %q, want %q", tt.values, got, tt.want)
		}
	}
}

func TestRender(t *testing.T) {
	var l line
	l.add(bold, "one ")
	l.add(plain, "two ")
	l.add(green, "three")
	for _, tt := range []struct {
		width int
		color bool
		want  string
	}{
		{99, false, "one two three"},
		{99, true, "\x1b[1mone \x1b[0mtwo \x1b[32mthree\x1b[0m"},
		{10, true, "\x1b[1mone \x1b[0mtwo \x1b[32mt…\x1b[0m"},
		{4, true, "\x1b[1mone \x1b[0m"},
		{2, false, "o…"},
		{0, true, ""},
	} {
		var b strings.Builder
		l.render(&b, tt.width, tt.color)
		if b.String() != tt.want {
			t.Errorf("render(%d, %v) = %q, want %q", tt.width, tt.color, b.String(), tt.want)
		}
	}
}

func TestRate(t *testing.T) {
	start := time.Unix(0, 0)
	var r Rate
	for _, tt := range []struct {
		at    time.Duration
		total uint64
		want  float64
	}{
		{0, 100, 0},
		{0, 105, 0}, // no time has passed
		{500 * time.Millisecond, 150, 100},
		{time.Second, 200, 95},
		{2 * time.Second, 200, 0},
		{2500 * time.Millisecond, 400, 200 / 1.5}, // since 1s, the newest sample that is old enough
		{12500 * time.Millisecond, 1400, 100},
		{12600 * time.Millisecond, 0, 0}, // not a counter, but no failure either
	} {
		if got := r.Sample(start.Add(tt.at), tt.total); got != tt.want {
			t.Errorf("at %v: rate %v, want %v", tt.at, got, tt.want)
		}
		if len(r.samples) > 4 {
			t.Errorf("at %v: %d samples are kept", tt.at, len(r.samples))
		}
	}
}
