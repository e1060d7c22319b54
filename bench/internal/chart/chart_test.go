package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write the golden files")

func samples() map[string][]byte {
	inf := math.Inf(1)
	return map[string][]byte{
		"ratios.svg": Ratios("Ratios", "How much better.", []Bar{
			{Label: "much better", Ratio: 14_000, Low: 12_000, High: 15_000, Text: "14,000×"},
			{Label: "better", Ratio: 1.4, Low: 1.1, High: 2.2, Text: "1.4×"},
			{Label: "worse <&>", Ratio: 0.62, Low: 0.55, High: 0.64, Text: "0.62×"},
			{Label: "no interval", Ratio: 3, Low: -inf, High: inf, Text: "3×"},
			{Label: "takes nothing", Ratio: inf, Low: inf, High: inf, Text: "∞"},
		}),
		"growth.svg": Growth("Growth", []Panel{
			{Title: "get", Sizes: []float64{1e3, 1e4, 1e5, 1e6}, Ours: []float64{30, 45, 150, 400}, Theirs: []float64{52, 60, 170, 630}},
			{Title: "same", Sizes: []float64{1e3, 1e4}, Ours: []float64{100, 100}, Theirs: []float64{100, 100}},
			{Title: "odd one", Sizes: []float64{1e3}, Ours: []float64{1e6}, Theirs: []float64{2e9}},
		}),
		"amounts.svg": Amounts("Amounts", "What is taken.", []Amount{
			{Label: "all of it", Value: 206, Text: "206 B", Theirs: true},
			{Label: "some <&>", Value: 66, Text: "66 B", Apart: true},
			{Label: "nothing", Text: "0 B"},
		}),
		"empty.svg": Ratios("Nothing", "", nil),
	}
}

// TestGolden compares whole files. After a change look at them, as with
// rsvg-convert -o x.png x.svg, and run with -update.
func TestGolden(t *testing.T) {
	for name, got := range samples() {
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs from what it was", name)
		}
	}
}

// TestWellFormed checks that every chart is XML, and free of coordinates that are none.
func TestWellFormed(t *testing.T) {
	for name, svg := range samples() {
		d := xml.NewDecoder(bytes.NewReader(svg))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for _, bad := range []string{"NaN", "Inf"} {
			if strings.Contains(string(svg), bad) {
				t.Errorf("%s has a coordinate %s", name, bad)
			}
		}
		if !strings.Contains(string(svg), "prefers-color-scheme: dark") {
			t.Errorf("%s has no dark mode", name)
		}
	}
}

// TestIntervalsFit: the axis holds the ends of an interval, and not only the ratio.
func TestIntervalsFit(t *testing.T) {
	for tick, b := range map[string]Bar{
		"1,000×": {Ratio: 29.6, Low: 27.7, High: 189},
		"0.01×":  {Ratio: 0.2, Low: 0.05, High: 0.4},
	} {
		if svg := Ratios("", "", []Bar{b}); !strings.Contains(string(svg), ">"+tick+"<") {
			t.Errorf("the axis of %+v has no tick at %s", b, tick)
		}
	}
}

func TestLogScale(t *testing.T) {
	s := newLogScale([]float64{0.5, 30, 0, math.Inf(1)}, 100, 400)
	for _, c := range []struct{ value, at float64 }{{0.1, 100}, {1, 200}, {10, 300}, {100, 400}, {0, 100}, {1e9, 400}} {
		if got := s.at(c.value); math.Abs(got-c.at) > 1e-6 {
			t.Errorf("%v is at %v, want %v", c.value, got, c.at)
		}
	}
	if len(s.ticks()) != 4 {
		t.Errorf("ticks %v", s.ticks())
	}
	s.low = 0.3
	if ticks := s.ticks(); len(ticks) != 3 || math.Abs(ticks[0]-1) > 1e-9 {
		t.Errorf("ticks %v from 0.3", ticks)
	}
	if s := newLogScale([]float64{100}, 0, 1); s.low != 100 || s.high != 1000 {
		t.Errorf("scale of one value: %+v", s)
	}
	if s := newLogScale(nil, 0, 1); s.low != 1 || s.high != 10 {
		t.Errorf("scale of nothing: %+v", s)
	}
}

func TestFormats(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Times(2.4), "2.4×"}, {Times(14_049), "14,000×"}, {Times(math.Inf(1)), "∞"}, {Times(1), "1×"},
		{Short(0), "0"}, {Short(0.04), "0.04"}, {Short(0.997), "1"}, {Short(9.96), "10"}, {Short(99.6), "100"},
		{Short(123_456), "123,000"}, {Short(1_234_567), "1,230,000"}, {Short(-1234), "-1,230"}, {Short(-123), "-123"}, {Short(12.34), "12.3"},
		{Nanoseconds(5.16), "5.16 ns"}, {Nanoseconds(999.9), "1 µs"}, {Nanoseconds(244e6), "244 ms"}, {Nanoseconds(5e9), "5 s"}, {Nanoseconds(7e12), "7,000 s"},
		{Bytes(206), "206 B"}, {Bytes(1792), "1.75 KB"}, {Bytes(0), "0 B"},
		{count(500), "500"}, {count(1000), "1k"}, {count(100_000), "100k"}, {count(1_000_000), "1M"}, {count(2_500_000), "2.5M"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
