package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/kinform/kinform/bench/internal/chart"
	"github.com/kinform/kinform/bench/internal/measure"
)

// results are the content of results.json.
type results struct {
	Machine hardware
	Quick   bool `json:",omitempty"`
	Rows    []row
}

// row is a line of the table.
type row struct {
	Op, Title string
	// Ratio is client-go's amount by kinform's; Low and High are its 95% confidence interval. All
	// are 0 if the ratio is infinite, Low and High if it was measured too few times for an
	// interval.
	Ratio, Low, High float64
	// Allocs and Bytes are kinform's per operation, 0 if the line counts something else.
	Allocs, Bytes float64
}

// slack is the part of an amount without interval that may differ between two runs without a
// reason.
const slack = 0.05

func (r *report) rows() (rows []row) {
	all := r.results
	for _, grown := range r.growth {
		all = append(all[:len(all):len(all)], grown...)
	}
	for _, res := range all {
		if res.Op.Missing != "" {
			continue
		}
		for _, v := range res.Verdicts() {
			one := row{Op: res.Op.Name, Title: v.Line.Title}
			if !math.IsInf(v.Ratio.Median, 0) {
				one.Ratio = v.Ratio.Median
				if v.Ratio.Known() {
					one.Low, one.High = v.Ratio.Low, v.Ratio.High
				}
			}
			if v.Line.Unit == measure.Nanoseconds {
				one.Allocs = measure.NewEstimate(res.Kinform[measure.Allocs]).Median
				one.Bytes = measure.NewEstimate(res.Kinform[measure.Bytes]).Median
			}
			rows = append(rows, one)
		}
	}
	return rows
}

var (
	// errLost says that an operation has become slower beside client-go, or takes more memory.
	errLost = errors.New("operations have lost")
	// errNothingCompared says that the earlier report has none of the rows.
	errNothingCompared = errors.New("the earlier results have no row of this report, so nothing was compared: let -run select operations that they have")
	// errOtherMachine says that the earlier report is of another machine.
	errOtherMachine = errors.New("ratios differ from machine to machine: measure the earlier version here, too")
	// errQuick says that one of the reports is quick.
	errQuick = errors.New("a quick run compares with another quick run only: measure both with -quick, or none")
)

// readResults returns the content of a results.json.
func readResults(file string) (old results, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return old, fmt.Errorf("-compare takes the results.json that an earlier report has written: %w", err)
	}
	if err := json.Unmarshal(text, &old); err != nil {
		return old, fmt.Errorf("%s: %w: it is no results.json, or that of a report which did not name its machine; measure it again", file, err)
	}
	return old, nil
}

// mayCompare returns nil if this report compares with an earlier one.
func (r *report) mayCompare(old results) error {
	switch {
	case old.Machine != r.machine.hardware:
		return fmt.Errorf("it is of a machine with %s, and this one has %s: %w", old.Machine, r.machine.hardware, errOtherMachine)
	case old.Quick != r.quick:
		return errQuick
	}
	return nil
}

// compare prints to out each row that lost against an earlier report, and each row that won. It
// returns errLost if one lost more than noise can explain.
func (r *report) compare(old []row, out io.Writer) error {
	before := make(map[[2]string]row, len(old))
	for _, one := range old {
		before[[2]string{one.Op, one.Title}] = one
	}
	lost, both := 0, 0
	for _, now := range r.rows() {
		was, ok := before[[2]string{now.Op, now.Title}]
		if !ok {
			continue
		}
		both++
		if text := now.loss(was); text != "" {
			lost++
			fmt.Fprintf(out, "lost: %s: %s\n", now.Title, text)
		} else if was.worse(now) {
			fmt.Fprintf(out, "won:  %s: %s → %s\n", now.Title, chart.Times(was.Ratio), chart.Times(now.Ratio))
		}
	}
	fmt.Fprintf(out, "%d rows compared, %d lost\n", both, lost)
	switch {
	case both == 0:
		return errNothingCompared
	case lost > 0:
		return errLost
	}
	return nil
}

// loss says what now lost against was, or nothing.
func (now row) loss(was row) string {
	switch {
	case now.worse(was):
		return fmt.Sprintf("%s → %s", chart.Times(was.Ratio), chart.Times(now.Ratio))
	case more(now.Allocs, was.Allocs):
		return fmt.Sprintf("%s → %s allocations", rounded(was.Allocs), rounded(now.Allocs))
	case more(now.Bytes, was.Bytes) && now.Bytes > was.Bytes+8:
		return fmt.Sprintf("%s → %s allocated", chart.Bytes(was.Bytes), chart.Bytes(now.Bytes))
	}
	return ""
}

// worse reports whether now has a worse ratio than was by more than noise: the intervals
// have nothing in common or, without intervals, the ratios differ by more than slack.
func (now row) worse(was row) bool {
	if now.Ratio == 0 || was.Ratio == 0 {
		return now.Ratio != 0 && was.Ratio == 0 // was infinite: took nothing
	}
	if now.High == 0 || was.High == 0 {
		return now.Ratio < was.Ratio*(1-slack)
	}
	return now.High < was.Low && now.Ratio < was.Ratio*(1-slack)
}

func more(now, was float64) bool { return now > was*(1+slack)+0.01 }
