package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/kinform/kinform/bench/internal/chart"
	"github.com/kinform/kinform/bench/internal/measure"
)

// amount formats v of a unit. A unit of memory begins with B, a unit of time begins with or ends in
// ns, and a unit of ratios begins with times.
func amount(v float64, unit string) string {
	switch {
	case strings.HasPrefix(unit, "B/"):
		return chart.Bytes(v)
	case strings.HasPrefix(unit, "ns"), strings.HasSuffix(unit, "-ns"):
		return chart.Nanoseconds(v)
	case strings.HasPrefix(unit, "times-"):
		return chart.Times(v) + " " + strings.TrimPrefix(unit, "times-")
	}
	what, _, _ := strings.Cut(unit, "/")
	number := rounded(v)
	if number == "1" {
		what = strings.TrimSuffix(what, "s")
	}
	return number + " " + what
}

// rounded returns v as limits compare it: rounded to two digits after the point.
func rounded(v float64) string { return chart.Short(math.Round(v*100) / 100) }

// ratio formats an estimate with its interval.
func ratio(e measure.Estimate) string {
	s := chart.Times(e.Median)
	if e.Known() {
		s += fmt.Sprintf(" (%s–%s)", chart.Short(e.Low), chart.Short(e.High))
	}
	return s
}

// goal says in words what line asks for.
func goal(line measure.Line) string {
	var parts []string
	if line.Goal > 0 {
		parts = append(parts, "≥ "+chart.Times(line.Goal))
	}
	for _, limit := range line.Limits {
		if limit.AtMost == 0 {
			what, _, _ := strings.Cut(limit.Unit, "/")
			parts = append(parts, "0 "+what)
			continue
		}
		parts = append(parts, "≤ "+amount(limit.AtMost, limit.Unit))
	}
	return strings.Join(parts, ", ")
}

// cells returns the three columns of one side: the line's own measure, such as the time, then
// bytes and allocations.
func cells(values measure.Values, line measure.Line) [3]string {
	median := func(unit string) float64 { return measure.NewEstimate(values[unit]).Median }
	out := [3]string{amount(median(line.Unit), line.Unit), "", ""}
	if line.Unit == measure.Nanoseconds {
		out[1] = chart.Bytes(math.Round(median(measure.Bytes)*100) / 100)
		out[2] = rounded(median(measure.Allocs))
		return out
	}
	for _, limit := range line.Limits {
		if limit.Unit != line.Unit {
			out[0] += ", " + amount(median(limit.Unit), limit.Unit)
		}
	}
	return out
}

// met says whether the goal was met, with a mark if another run might have the opposite
// result.
func met(v measure.Verdict) string {
	s := "**no**"
	if v.Met {
		s = "yes"
	}
	if v.Close {
		s += " ≈"
	}
	return s
}

const head = "| operation | kinform | B | allocs | client-go | B | allocs | ratio (95%) | goal | met |\n" +
	"| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |\n"

// whole reports whether an operation is about a whole controller.
func whole(op measure.Op) bool { return strings.HasPrefix(op.Name, "whole/") }

// table is the table of the operations of which is is true.
func (r *report) table(is func(measure.Op) bool) string {
	var b strings.Builder
	b.WriteString(head)
	for _, res := range r.results {
		if !is(res.Op) {
			continue
		}
		if res.Op.Missing != "" {
			for _, line := range res.Op.Lines {
				fmt.Fprintf(&b, "| %s | *not measured: %s* | | | | | | | %s | |\n", line.Title, res.Op.Missing, goal(line))
			}
			continue
		}
		for _, v := range res.Verdicts() {
			ours, theirs := cells(res.Kinform, v.Line), cells(res.ClientGo, v.Line)
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", v.Line.Title,
				strings.Join(append(ours[:], theirs[:]...), " | "),
				strings.Join([]string{ratio(v.Ratio), goal(v.Line)}, " | "), met(v))
		}
	}
	return b.String()
}

// growthTable is the table of the growing stores, empty if none were measured.
func (r *report) growthTable() string {
	var b strings.Builder
	for i, results := range r.growth {
		for _, res := range results {
			if b.Len() == 0 {
				b.WriteString("| operation | objects | kinform | client-go | ratio (95%) |\n| --- | ---: | ---: | ---: | ---: |\n")
			}
			v := res.Verdicts()[0]
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", v.Line.Title, chart.Short(float64(r.plan.sizes[i])),
				amount(v.Kinform.Median, v.Line.Unit), amount(v.ClientGo.Median, v.Line.Unit), ratio(v.Ratio))
		}
	}
	return b.String()
}
