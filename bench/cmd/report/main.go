// Command report measures kinform beside client-go and writes the results as a table and
// as charts.
//
//	go run ./bench/cmd/report                 # all of it, 30 minutes on an idle machine; into bench/
//	go run ./bench/cmd/report -run 'get|list' # some operations
//	go run ./bench/cmd/report -quick -o /tmp  # does it work? the numbers mean nothing
//	go run ./bench/cmd/report -o /tmp/new -compare bench/results.json # fails if an operation has lost
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/bench/internal/ops"
)

func main() {
	if ops.ServeOthers() {
		return
	}
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard) // client-go logs what takes long
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

// plan selects the measurements and their duration.
type plan struct {
	pods    int
	sizes   []int // of the growing stores
	span    time.Duration
	options measure.Options
	growth  measure.Options
}

var (
	full = plan{
		pods: 100_000, sizes: []int{1000, 10_000, 100_000, 1_000_000}, span: 250 * time.Millisecond,
		options: measure.Options{Slice: 100 * time.Millisecond, Rounds: 20},
		growth:  measure.Options{Slice: 50 * time.Millisecond, Rounds: 10},
	}
	quick = plan{
		pods: 2000, sizes: []int{1000, 10_000}, span: 5 * time.Millisecond,
		options: measure.Options{Slice: time.Millisecond, Rounds: 2},
		growth:  measure.Options{Slice: time.Millisecond, Rounds: 2},
	}
)

// run is main without the process. It writes its progress to log.
func run(ctx context.Context, args []string, log io.Writer) error {
	flags := flag.NewFlagSet("report", flag.ContinueOnError)
	flags.SetOutput(log)
	only := flags.String("run", "", "measure only operations whose name matches this regular `expression`")
	short := flags.Bool("quick", false, "measure little and for a short time, to see that it works")
	out := flags.String("o", "bench", "write RESULTS.md, results.json and charts/ into this `directory`")
	than := flags.String("compare", "", "compare with the results.json `file` of an earlier report on this machine, and fail if an operation has lost more than its noise")
	if err := flags.Parse(args); err != nil {
		return err
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	p := full
	if *short {
		p = quick
	}
	r := report{plan: p, quick: *short, run: *only, machine: thisMachine(), began: time.Now()}
	// Before anything is measured, and before new results replace them if they are the same file.
	var old results
	if *than != "" {
		if old, err = readResults(*than); err != nil {
			return err
		}
		if err := r.mayCompare(old); err != nil {
			return fmt.Errorf("-compare %s: %w", *than, err)
		}
	}
	if err := r.measure(ctx, wanted, log); err != nil {
		return err
	}
	err = r.write(*out)
	if *than != "" {
		err = errors.Join(err, r.compare(old.Rows, log))
	}
	return err
}

// report holds the results.
type report struct {
	plan    plan
	quick   bool
	run     string
	machine machine
	began   time.Time
	took    time.Duration
	results []measure.Result // in the order of ops.All and ops.Savings
	growth  [][]measure.Result
}

// measure measures the operations whose names match. Those that need an idle program come
// first, then the growing stores, while there are no pods in memory yet.
func (r *report) measure(ctx context.Context, wanted *regexp.Regexp, log io.Writer) error {
	all := slices.DeleteFunc(append(ops.All(ops.NewWorld(r.plan.pods, r.plan.span)), ops.Savings()...), func(op measure.Op) bool {
		return !wanted.MatchString(op.Name)
	})
	r.results = make([]measure.Result, len(all))
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	idle := func(i int) bool { return strings.HasPrefix(all[i].Name, "idle/") }
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case idle(a) == idle(b):
			return 0
		case idle(a):
			return -1
		}
		return 1
	})
	grown := false
	for _, i := range order {
		if !idle(i) && !grown {
			grown = true
			if err := r.measureGrowth(ctx, wanted, log); err != nil {
				return err
			}
		}
		res, err := r.one(ctx, all[i], r.plan.options, log)
		if err != nil {
			return err
		}
		r.results[i] = res
	}
	if !grown {
		if err := r.measureGrowth(ctx, wanted, log); err != nil {
			return err
		}
	}
	if len(r.results) == 0 && !slices.ContainsFunc(r.growth, func(grown []measure.Result) bool { return len(grown) > 0 }) {
		return fmt.Errorf("no operation has a name that matches %q", wanted)
	}
	r.took = time.Since(r.began)
	return nil
}

func (r *report) measureGrowth(ctx context.Context, wanted *regexp.Regexp, log io.Writer) error {
	for _, n := range r.plan.sizes {
		var results []measure.Result
		for _, op := range ops.Growing(n) {
			if !wanted.MatchString(op.Name) {
				continue
			}
			res, err := r.one(ctx, op, r.plan.growth, log)
			if err != nil {
				return err
			}
			res.Op.Setup = nil // Setup holds the objects
			results = append(results, res)
		}
		r.growth = append(r.growth, results)
	}
	return nil
}

func (r *report) one(ctx context.Context, op measure.Op, opts measure.Options, log io.Writer) (measure.Result, error) {
	if err := ctx.Err(); err != nil {
		return measure.Result{}, err
	}
	if op.Missing != "" {
		return measure.Result{Op: op}, nil
	}
	start := time.Now()
	res, err := measure.Run(op, opts)
	if err != nil {
		return res, err
	}
	for _, v := range res.Verdicts() {
		fmt.Fprintf(log, "%6.1fs  %-60s %12s %14s %10s\n", time.Since(start).Seconds(), v.Line.Title,
			amount(v.Kinform.Median, v.Line.Unit), amount(v.ClientGo.Median, v.Line.Unit), ratio(v.Ratio))
	}
	return res, nil
}

// write writes all files into dir.
func (r *report) write(dir string) error {
	rows, err := json.MarshalIndent(results{r.machine.hardware, r.quick, r.rows()}, "", "\t")
	if err != nil {
		return err
	}
	files := map[string][]byte{"RESULTS.md": r.markdown(), "results.json": append(rows, '\n')}
	for name, svg := range r.charts() {
		files[filepath.Join("charts", name)] = svg
	}
	if err := os.MkdirAll(filepath.Join(dir, "charts"), 0o755); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
