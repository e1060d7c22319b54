package measure

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTurns checks the order of the measurements: in turns, and not always in the same
// order.
func TestTurns(t *testing.T) {
	var order string
	closed := 0
	side := func(name string) Side {
		return Side{
			Run:   func(Meter, int) error { order += name; return nil },
			Close: func() { closed++ },
		}
	}
	op := Op{Name: "op", Exact: true, Setup: func() (Sides, error) {
		return Sides{Kinform: side("k"), ClientGo: side("c")}, nil
	}}
	for _, c := range []struct {
		exact, whole bool
		max, rounds  int
		want         string
	}{
		{exact: true, rounds: 10, want: "kcckkc"},
		{exact: true, rounds: 2, want: "kcck"},
		{exact: true, rounds: 0, want: "kc"},
		{whole: true, rounds: 2, want: "kckcck"}, // each once before, to warm up
		{whole: true, rounds: 9, max: 1, want: "kckc"},
	} {
		order, closed = "", 0
		op.Exact, op.Whole, op.Rounds = c.exact, c.whole, c.max
		if _, err := Run(op, Options{Rounds: c.rounds}); err != nil {
			t.Fatal(err)
		}
		if order != c.want || closed != 2 {
			t.Errorf("%+v: order %q, %d closed", c, order, closed)
		}
	}
}

// TestCalibrate checks that short operations are done many times in a slice.
func TestCalibrate(t *testing.T) {
	var last int
	tn := &turn{n: 1, side: Side{Run: func(_ Meter, n int) error {
		last = n
		for end := time.Now().Add(time.Duration(n) * time.Microsecond); time.Now().Before(end); {
		}
		return nil
	}}}
	if err := tn.calibrate(8 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	// An operation takes 1 µs at least, and the machine may make it take any time.
	if tn.n < 1 || tn.n > 8000*2 || last < 1 {
		t.Errorf("%d operations of 1 µs in 8 ms, %d in the last trial", tn.n, last)
	}
	whole := &turn{n: 1, whole: true, side: Side{Run: func(_ Meter, n int) error { last = n; return nil }}}
	if err := whole.calibrate(time.Second); err != nil || whole.n != 1 || last != 1 {
		t.Errorf("whole operation done %d times: %v", last, err)
	}
}

var sink []byte

// TestMeter checks what is counted: nothing while the timer stands.
func TestMeter(t *testing.T) {
	values := Values{}
	tn := &turn{n: 10, values: values, side: Side{Run: func(m Meter, n int) error {
		m.StopTimer()
		m.StopTimer()
		sink = make([]byte, 1<<20)
		runtime.GC()
		m.StartTimer()
		m.StartTimer()
		for range n {
			sink = make([]byte, 1024)
		}
		m.ReportMetric(7, "things")
		return nil
	}}}
	for range 3 {
		if err := tn.take(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		if b := values[Bytes][i]; b < 1024 || b > 10*1024 {
			t.Errorf("%v bytes per operation, want about 1024", b)
		}
		if a := values[Allocs][i]; a < 1 || a > 20 {
			t.Errorf("%v allocations per operation, want about 1", a)
		}
		if values["things"][i] != 7 || values[Nanoseconds][i] <= 0 {
			t.Errorf("round %d: %v", i, values)
		}
	}
}

func TestReportedReplacesTaken(t *testing.T) {
	values := Values{}
	tn := &turn{n: 1, values: values, side: Side{Run: func(m Meter, _ int) error {
		m.ReportMetric(42, Nanoseconds)
		return nil
	}}}
	if err := tn.take(); err != nil || !slices.Equal(values[Nanoseconds], []float64{42}) {
		t.Errorf("%v, %v", values, err)
	}
}

func TestErrors(t *testing.T) {
	bad := errors.New("bad")
	if _, err := Run(Op{Name: "x", Setup: func() (Sides, error) { return Sides{}, bad }}, Options{}); !errors.Is(err, bad) {
		t.Errorf("setup: %v", err)
	}
	for _, exact := range []bool{false, true} {
		closed := false
		op := Op{Name: "x", Exact: exact, Setup: func() (Sides, error) {
			return Sides{
				Kinform:  Side{Run: func(Meter, int) error { return nil }, Close: func() { closed = true }},
				ClientGo: Side{Run: func(Meter, int) error { return bad }},
			}, nil
		}}
		if _, err := Run(op, Options{}); !errors.Is(err, bad) || !closed {
			t.Errorf("run: %v, closed %v", err, closed)
		}
	}
}

func TestEstimate(t *testing.T) {
	values := []float64{9, 1, 8, 2, 7, 3, 6, 4, 5, 5}
	e := NewEstimate(values)
	// The interval of a median of ten values at 95% is from the second to the ninth.
	if e != (Estimate{Median: 5, Low: 2, High: 8}) || !e.Known() {
		t.Errorf("%+v", e)
	}
	if values[0] != 9 {
		t.Error("the values were sorted in place")
	}
	if e := NewEstimate([]float64{1, 2, 3}); e.Known() || e.Median != 2 {
		t.Errorf("three values: %+v", e)
	}
}

// repeated returns ten values around v.
func repeated(v float64) []float64 {
	out := make([]float64, 10)
	for i := range out {
		out[i] = v * (1 + float64(i-5)/1000)
	}
	return out
}

func TestVerdicts(t *testing.T) {
	noise := []float64{1, 3.1, 1, 3.1, 1, 3.1, 1, 3.1, 1, 3.1}
	for i, c := range []struct {
		line         Line
		ours, theirs []float64
		allocs       float64
		met, close   bool
		ratio        float64
	}{
		{line: Line{Goal: 2}, ours: repeated(10), theirs: repeated(30), met: true, ratio: 3},
		{line: Line{Goal: 4}, ours: repeated(10), theirs: repeated(30), ratio: 3},
		{line: Line{Goal: 2}, ours: repeated(1), theirs: noise, met: true, close: true, ratio: 2.05},
		{line: Line{Goal: 0}, ours: repeated(10), theirs: repeated(1), met: true, ratio: 0.1},
		{line: Line{Goal: 2, Limits: []Limit{{Allocs, 0}}}, ours: repeated(10), theirs: repeated(30), allocs: 0.004, met: true, ratio: 3},
		{line: Line{Goal: 2, Limits: []Limit{{Allocs, 0}}}, ours: repeated(10), theirs: repeated(30), allocs: 0.01, ratio: 3},
		{line: Line{Goal: 2, Limits: []Limit{{Allocs, 0.5}}}, ours: repeated(10), theirs: repeated(30), allocs: 0.5, met: true, ratio: 3},
		{line: Line{Goal: 2}, ours: make([]float64, 10), theirs: repeated(30), met: true, ratio: math.Inf(1)},
		{line: Line{Goal: 2}, ours: []float64{10, 10, 10}, theirs: []float64{30, 30, 30}, met: true, ratio: 3}, // no interval
	} {
		c.line.Unit = Nanoseconds
		r := Result{
			Op:       Op{Lines: []Line{c.line}},
			Kinform:  Values{Nanoseconds: c.ours, Allocs: {c.allocs, c.allocs}},
			ClientGo: Values{Nanoseconds: c.theirs},
		}
		v := r.Verdicts()[0]
		if v.Met != c.met || v.Close != c.close || (v.Ratio.Median != c.ratio && math.Abs(v.Ratio.Median/c.ratio-1) > 0.01) {
			t.Errorf("case %d: %+v", i, v)
		}
	}
}

// TestNoiseCancels is why ratios are taken round by round: whole rounds are slow here.
func TestNoiseCancels(t *testing.T) {
	var ours, theirs []float64
	for i := range 20 {
		slow := 1 + float64(i%4)
		ours, theirs = append(ours, 10*slow), append(theirs, 50*slow)
	}
	r := Result{Op: Op{Lines: []Line{{Unit: "x"}}}, Kinform: Values{"x": ours}, ClientGo: Values{"x": theirs}}
	if v := r.Verdicts()[0]; v.Ratio != (Estimate{5, 5, 5}) || v.P > 0.01 {
		t.Errorf("%+v", v)
	}
}

func TestPercentile(t *testing.T) {
	values := make([]float64, 1000)
	for i := range values {
		values[i] = float64(1000 - i)
	}
	for _, c := range []struct{ share, want float64 }{{0, 1}, {0.5, 500}, {0.99, 990}, {0.999, 999}, {1, 1000}} {
		if got := Percentile(slices.Clone(values), c.share); got != c.want {
			t.Errorf("percentile %v is %v, want %v", c.share, got, c.want)
		}
	}
	if got := Percentile([]float64{3}, 0.5); got != 3 {
		t.Errorf("of one value: %v", got)
	}
}

func TestSeries(t *testing.T) {
	var s Series
	for _, v := range []float64{5, 1, 3} {
		s.Add(v, "a")
	}
	s.Add(4, "b")
	s.Add(2, "b")
	m := &meter{}
	s.Report(m)
	if fmt.Sprint(m.reported) != "map[a:3 b:3]" {
		t.Errorf("reported %v", m.reported)
	}
}

// TestMeterOfTesting holds Meter to what a benchmark of package testing is.
func TestMeterOfTesting(*testing.T) {
	var _ Meter = (*testing.B)(nil)
}
