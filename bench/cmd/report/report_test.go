package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/klog/v2"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/bench/internal/ops"
)

func TestMain(m *testing.M) {
	if ops.ServeOthers() {
		return
	}
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	goleak.VerifyTestMain(m)
}

var update = flag.Bool("update", false, "write the golden files")

// TestQuick runs the command as a user does, with a few operations that fill every part of the
// report. Package ops tests each operation.
func TestQuick(t *testing.T) {
	dir := t.TempDir()
	const operations = "^(get$|list$|sync/list|idle/handlers=4|heap/|resident/default|growth/get)"
	var log bytes.Buffer
	if err := run(context.Background(), []string{"-quick", "-run", operations, "-o", dir}, &log); err != nil {
		t.Fatal(err)
	}
	results := read(t, dir, "RESULTS.md")
	for _, want := range []string{
		"store: get by namespace and name", "initial sync by LIST", "idle informer, 4 handlers",
		"quick run", "-quick -run '" + operations + "'", "| get | 10,000 |",
	} {
		if !strings.Contains(results, want) {
			t.Errorf("RESULTS.md has no %q", want)
		}
	}
	for _, bad := range []string{"NaN", "%!", "relist of identical objects, 1 handler, 1 index |"} {
		if strings.Contains(results, bad) {
			t.Errorf("RESULTS.md has %q", bad)
		}
	}
	if host, err := os.Hostname(); err == nil && len(host) > 4 && strings.Contains(results, host) {
		t.Error("RESULTS.md names the machine")
	}
	for _, name := range []string{"headline.svg", "heap.svg", "tables.svg", "growth.svg"} {
		if svg := read(t, dir, filepath.Join("charts", name)); !strings.HasPrefix(svg, "<svg ") {
			t.Errorf("%s is no SVG", name)
		}
	}
	if !strings.Contains(log.String(), "get by namespace and name") {
		t.Error("nothing was logged")
	}
	log.Reset()
	err := run(context.Background(), []string{"-quick", "-run", "^heap/", "-o", dir, "-compare", filepath.Join(dir, "results.json")}, &log)
	if err != nil || !strings.Contains(log.String(), "3 rows compared, 0 lost") {
		t.Errorf("memory of tables compared with itself: %v\n%s", err, &log)
	}
}

// TestHeadlines checks that the charts name operations that exist.
func TestHeadlines(t *testing.T) {
	known := map[string]bool{}
	for _, op := range ops.All(ops.NewWorld(1, time.Millisecond)) {
		known[op.Name] = true
	}
	for _, h := range append(headline, residents...) {
		if !known[h.op] {
			t.Errorf("no operation %q", h.op)
		}
	}
}

// TestHeadlineChart: the chart in README.md shows the numbers of results.json. After a change of the drawing, run with
// -update: no measurement is needed.
func TestHeadlineChart(t *testing.T) {
	measured, err := readResults("../../results.json")
	if err != nil {
		t.Fatal(err)
	}
	bars := headlineBars(measured.Rows)
	if len(bars) != len(headline) {
		t.Errorf("results.json has %d of %d operations", len(bars), len(headline))
	}
	want := headlineChart(bars)
	if *update {
		if err := os.WriteFile("../../charts/headline.svg", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, "../../charts", "headline.svg"); got != string(want) {
		t.Error("charts/headline.svg does not show results.json")
	}
}

// TestCompare compares two reports of made-up values.
func TestCompare(t *testing.T) {
	one := func(name string, ratio, spread, allocs float64) measure.Result {
		values := func(v float64) measure.Values {
			all := []float64{v}
			if spread > 0 {
				all = nil
				for i := range 10 {
					all = append(all, v*(1+spread*(float64(i)-4.5)))
				}
			}
			return measure.Values{measure.Nanoseconds: all, measure.Bytes: {0}, measure.Allocs: {allocs}}
		}
		return measure.Result{
			Op:      measure.Op{Name: name, Lines: []measure.Line{{Title: name, Unit: measure.Nanoseconds}}},
			Kinform: values(100), ClientGo: measure.Values{measure.Nanoseconds: slices.Repeat([]float64{100 * ratio}, 10)},
		}
	}
	old := report{results: []measure.Result{
		one("same", 2, 0.01, 0), one("slower", 2, 0.01, 0), one("noisy", 2, 0.1, 0), one("faster", 2, 0.01, 0), one("fatter", 2, 0.01, 1),
		one("exact", 2, 0, 0), one("less exact", 2, 0, 0), one("gone", 2, 0.01, 0),
	}}
	now := report{results: []measure.Result{
		one("same", 2.02, 0.01, 0), one("slower", 1.7, 0.01, 0), one("noisy", 1.7, 0.1, 0), one("faster", 3, 0.01, 0), one("fatter", 2, 0.01, 2),
		one("exact", 1.95, 0, 0), one("less exact", 1.5, 0, 0), one("new", 1, 0.01, 0),
	}}
	dir := t.TempDir()
	if err := old.write(dir); err != nil {
		t.Fatal(err)
	}
	written, err := readResults(filepath.Join(dir, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := now.compare(written.Rows, &out); !errors.Is(err, errLost) {
		t.Errorf("error %v", err)
	}
	if err := now.compare(nil, io.Discard); !errors.Is(err, errNothingCompared) {
		t.Errorf("with nothing in common: error %v", err)
	}
	const want = "lost: slower: 2× → 1.7×\nwon:  faster: 2× → 3×\nlost: fatter: 1 → 2 allocations\nlost: less exact: 2× → 1.5×\n7 rows compared, 3 lost\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", &out, want)
	}
}

// TestCompareRefuses: what does not compare is refused by name, before anything is measured.
func TestCompareRefuses(t *testing.T) {
	dir := t.TempDir()
	here := thisMachine().hardware
	other := here
	other.Processors++
	for file, test := range map[string]struct {
		content any
		want    string
	}{
		"none.json":  {nil, "an earlier report has written"},
		"bad.json":   {"a text", "measure it again"},
		"old.json":   {[]row{{Op: "get"}}, "did not name its machine"},
		"other.json": {results{Machine: other, Quick: true}, fmt.Sprintf("%d processors used", other.Processors)},
		"whole.json": {results{Machine: here}, errQuick.Error()},
	} {
		if test.content != nil {
			text, err := json.Marshal(test.content)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, file), text, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		var log bytes.Buffer
		err := run(t.Context(), []string{"-quick", "-run", "^heap/", "-o", dir, "-compare", filepath.Join(dir, file)}, &log)
		if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), test.want) || log.Len() > 0 {
			t.Errorf("%s: error %v, before it %q", file, err, &log)
		}
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestNothingToDraw: a run without any operation fails, and writes no charts.
func TestNothingToDraw(t *testing.T) {
	dir := t.TempDir()
	err := run(context.Background(), []string{"-quick", "-run", "no such", "-o", dir}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), `matches "no such"`) {
		t.Errorf("error %v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("it has written %v, %v", files, err)
	}
	r := report{plan: quick}
	if err := r.write(dir); err != nil {
		t.Fatal(err)
	}
	if results := read(t, dir, "RESULTS.md"); strings.Contains(results, "charts/") || strings.Contains(results, "store grows") {
		t.Error("RESULTS.md shows what is not there")
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-run", "("}, {"-no-such-flag"}, {"-o", "\x00", "-quick", "-run", "^heap/"}} {
		if err := run(context.Background(), args, io.Discard); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	if err := run(ctx, []string{"-quick", "-run", "key", "-o", dir}, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Error("an interrupted run wrote results")
	}
}

// around returns ten values around v.
func around(v float64) []float64 {
	out := make([]float64, 10)
	for i := range out {
		out[i] = v * (1 + float64(i-5)/100)
	}
	return out
}

// TestGolden writes a report of made-up values. After a change look at the file and run
// with -update.
func TestGolden(t *testing.T) {
	took := func(ns, bytes, allocs float64) measure.Values {
		return measure.Values{measure.Nanoseconds: around(ns), measure.Bytes: {bytes, bytes}, measure.Allocs: {allocs, allocs}}
	}
	noAllocs := []measure.Limit{{Unit: measure.Allocs, AtMost: 0}}
	r := report{
		plan:    full,
		machine: machine{hardware: hardware{"Abacus 5", 2, "linux/amd64"}, commit: "1a2b3c4d", goes: "go1.26.0", clientGo: "v0.37.2", load: "0.10"},
		began:   time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC),
		took:    7*time.Minute + 12*time.Second,
		results: []measure.Result{
			{
				Op:      measure.Op{Name: "get", Lines: []measure.Line{{Title: "get", Unit: measure.Nanoseconds, Goal: 1.2, Limits: noAllocs}}},
				Kinform: took(100, 0, 0), ClientGo: took(150, 48, 1),
			},
			{
				Op:      measure.Op{Name: "update", Lines: []measure.Line{{Title: "update", Unit: measure.Nanoseconds, Goal: 1.3, Limits: noAllocs}}},
				Kinform: took(1000, 32, 1), ClientGo: took(2_000, 144, 7),
			},
			{
				Op:      measure.Op{Name: "slow", Lines: []measure.Line{{Title: "slow", Unit: "p99-ns", Goal: 10}}},
				Kinform: measure.Values{"p99-ns": around(20_000)}, ClientGo: measure.Values{"p99-ns": around(30_000)},
			},
			{
				Op: measure.Op{Name: "idle/handlers=1", Lines: []measure.Line{{Title: "idle", Unit: "B/informer",
					Limits: []measure.Limit{{Unit: "B/informer", AtMost: 10240}, {Unit: "goroutines/informer", AtMost: 2}}}}},
				Kinform:  measure.Values{"B/informer": around(9000), "goroutines/informer": {2, 2}},
				ClientGo: measure.Values{"B/informer": around(29_000), "goroutines/informer": {5, 5}},
			},
			{
				Op:      measure.Op{Name: "heap/indexes=1", Lines: []measure.Line{{Title: "bytes", Unit: "B/object", Goal: 1.33}}},
				Kinform: measure.Values{"B/object": {38, 38, 38}}, ClientGo: measure.Values{"B/object": {136, 136, 136}},
			},
			{Op: measure.Op{Name: "resync", Missing: "there is none", Lines: []measure.Line{{Title: "resync", Unit: measure.Nanoseconds, Goal: 8}}}},
		},
		growth: make([][]measure.Result, len(full.sizes)),
	}
	for i := range r.growth {
		r.growth[i] = []measure.Result{{
			Op:      measure.Op{Lines: []measure.Line{{Title: "get", Unit: measure.Nanoseconds}}},
			Kinform: took(30*math.Pow(2, float64(i)), 0, 0), ClientGo: took(50*math.Pow(2, float64(i)), 0, 0),
		}}
	}
	got, path := r.markdown(), filepath.Join("testdata", "RESULTS.md")
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
		t.Errorf("differs from %s:\n%s", path, got)
	}
}

func TestAmount(t *testing.T) {
	for _, c := range []struct {
		value float64
		unit  string
		want  string
	}{
		{12.34, measure.Nanoseconds, "12.3 ns"}, {15_000, "p99-ns", "15 µs"}, {2048, measure.Bytes, "2 KB"}, {0.004, measure.Allocs, "0 allocs"},
		{0.5, measure.Allocs, "0.5 allocs"}, {6, "goroutines/informer", "6 goroutines"}, {1, "goroutines/informer", "1 goroutine"}, {1.15, "times-empty", "1.15× empty"},
	} {
		if got := amount(c.value, c.unit); got != c.want {
			t.Errorf("%v %s is %q, want %q", c.value, c.unit, got, c.want)
		}
	}
}

func TestMachine(t *testing.T) {
	info := "processor\t: 0\nvendor_id\t: x\nmodel name\t: Abacus 5: fast\nmodel name\t: other\n"
	if got := modelName(info, "unknown"); got != "Abacus 5: fast" {
		t.Errorf("%q", got)
	}
	if got := modelName("no such thing", "unknown"); got != "unknown" {
		t.Errorf("%q", got)
	}
	for load, busy := range map[string]bool{"": false, "0.40": false, "0.60": true, "9.11": true, "?": false} {
		if m := (machine{hardware: hardware{Processors: 2}, load: load}); m.busy() != busy {
			t.Errorf("load %q: busy %v", load, !busy)
		}
	}
	if m := thisMachine(); m.Processors < 1 || m.goes == "" {
		t.Errorf("%+v", m)
	}
}
