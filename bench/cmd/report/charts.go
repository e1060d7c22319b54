package main

import (
	"strings"

	"github.com/kinform/kinform/bench/internal/chart"
	"github.com/kinform/kinform/bench/internal/measure"
)

// charts returns the charts that have results, by file name.
func (r *report) charts() map[string][]byte {
	out := map[string][]byte{}
	var bars []chart.Bar
	var pairs []chart.Pair
	for _, res := range r.results {
		if res.Op.Missing != "" {
			continue
		}
		for _, v := range res.Verdicts() {
			bars = append(bars, chart.Bar{
				Label: v.Line.Title, Ratio: v.Ratio.Median, Low: v.Ratio.Low, High: v.Ratio.High,
				Goal: v.Line.Reach, Missed: !v.Reached, Text: chart.Times(v.Ratio.Median),
			})
			if _, label, ok := strings.Cut(res.Op.Name, "heap/indexes="); ok {
				pairs = append(pairs, heapPair(label, v))
			}
		}
	}
	if len(bars) > 0 {
		out["ratios.svg"] = chart.Ratios("Kinform beside client-go: ratio per operation", bars)
	}
	if len(pairs) > 0 {
		out["heap.svg"] = chart.Pairs("Heap per object, beyond the object", "Bytes per pod that a store takes, with no index, one and three.", pairs)
	}
	if panels := r.panels(); len(panels) > 0 {
		out["growth.svg"] = chart.Growth("Cost as objects grow", panels)
	}
	return out
}

func heapPair(indexes string, v measure.Verdict) chart.Pair {
	label := indexes + " indexes"
	if indexes == "1" {
		label = "1 index"
	}
	return chart.Pair{
		Label: label,
		Ours:  v.Kinform.Median, OursText: chart.Bytes(v.Kinform.Median),
		Theirs: v.ClientGo.Median, TheirsText: chart.Bytes(v.ClientGo.Median),
	}
}

// panels turns the results by size into panels by operation.
func (r *report) panels() []chart.Panel {
	var panels []chart.Panel
	for i, results := range r.growth {
		for n, res := range results {
			if n == len(panels) {
				panels = append(panels, chart.Panel{Title: res.Op.Lines[0].Title})
			}
			v := res.Verdicts()[0]
			p := &panels[n]
			p.Sizes = append(p.Sizes, float64(r.plan.sizes[i]))
			p.Ours = append(p.Ours, v.Kinform.Median)
			p.Theirs = append(p.Theirs, v.ClientGo.Median)
		}
	}
	return panels
}
