package measure

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Line is one line of a report: one measure of an operation and its goals.
type Line struct {
	Title string
	// Unit is the measure that is compared. Less is better.
	Unit string
	// Goal is the least ratio of client-go's value to kinform's that we set for this line. Zero means
	// that there is no such goal.
	Goal float64
	// Limits are the values that kinform should not exceed, whatever client-go takes.
	Limits []Limit
}

// Limit is the most that kinform should take of Unit.
type Limit struct {
	Unit   string
	AtMost float64
}

// Estimate is a median with the bounds of its 95% confidence interval. The bounds are
// infinite if there are too few values for one (less than six).
type Estimate struct{ Median, Low, High float64 }

// Known reports whether e has bounds.
func (e Estimate) Known() bool { return !math.IsInf(e.Low, 0) && !math.IsInf(e.High, 0) }

// confidence is the confidence level of all intervals; benchstat's.
const confidence = 0.95

// NewEstimate estimates the median of the distribution that values come from. It assumes
// nothing about the distribution. values must not be empty.
func NewEstimate(values []float64) Estimate {
	sample := benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
	s := benchmath.AssumeNothing.Summary(sample, confidence)
	e := Estimate{Median: s.Center, Low: s.Lo, High: s.Hi}
	if math.IsNaN(e.Median) {
		e.Median = math.Inf(1) // halfway between two infinite ratios
	}
	return e
}

// Verdict is the result for a Line.
type Verdict struct {
	Line              Line
	Kinform, ClientGo Estimate
	// Ratio is of client-go's value to kinform's in the same round. It is +Inf where
	// kinform takes nothing.
	Ratio Estimate
	// P is the probability that two equal sides would differ like this (Mann-Whitney).
	P float64
	// Met says that the median ratio is at least Goal and that no limit is exceeded.
	Met bool
	// Close says that the interval of the ratio includes Goal, so another run might have the
	// opposite result.
	Close bool
}

// Verdicts judges r, a verdict per line of its operation.
func (r Result) Verdicts() []Verdict {
	out := make([]Verdict, len(r.Op.Lines))
	for i, line := range r.Op.Lines {
		out[i] = r.verdict(line)
	}
	return out
}

func (r Result) verdict(line Line) Verdict {
	ours, theirs := r.Kinform[line.Unit], r.ClientGo[line.Unit]
	v := Verdict{
		Line:     line,
		Kinform:  NewEstimate(ours),
		ClientGo: NewEstimate(theirs),
		Ratio:    NewEstimate(ratios(theirs, ours)),
	}
	t := &benchmath.DefaultThresholds
	v.P = benchmath.AssumeNothing.Compare(
		benchmath.NewSample(slices.Clone(ours), t), benchmath.NewSample(slices.Clone(theirs), t)).P
	v.Met = v.Ratio.Median >= line.Goal
	v.Close = line.Goal > 0 && v.Ratio.Known() && (v.Ratio.Low < line.Goal) != (v.Ratio.High < line.Goal)
	for _, limit := range line.Limits {
		if round(NewEstimate(r.Kinform[limit.Unit]).Median) > limit.AtMost {
			v.Met = false
		}
	}
	return v
}

// round rounds to two digits: an allocation once in hundreds of operations has another cause,
// such as the garbage collector.
func round(v float64) float64 { return math.Round(v*100) / 100 }

// ratios divides round by round, so that a slow round cancels out.
func ratios(theirs, ours []float64) []float64 {
	out := make([]float64, min(len(theirs), len(ours)))
	for i := range out {
		out[i] = math.Inf(1)
		if ours[i] > 0 {
			out[i] = theirs[i] / ours[i]
		}
	}
	return out
}

// Median returns the median of values, which must not be empty.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

// Percentile returns the value that the given share of values, of 0 to 1, does not
// exceed. It sorts values, which must not be empty.
func Percentile(values []float64, share float64) float64 {
	slices.Sort(values)
	at := int(math.Ceil(share*float64(len(values)))) - 1
	return values[min(max(at, 0), len(values)-1)]
}
