package chart

import (
	"math"
	"slices"
)

// Bar is one operation of a chart of ratios.
type Bar struct {
	Label string
	// Ratio is how many times better kinform is; Low and High bound it, if they are
	// finite. An infinite Ratio is drawn to the edge.
	Ratio, Low, High float64
	// Text is written behind the bar.
	Text string
}

// bounded reports whether Low and High are an interval.
func (b Bar) bounded() bool {
	return !math.IsInf(b.Low, 0) && !math.IsInf(b.High, 0) && b.High > b.Low
}

// Ratios draws bars on a logarithmic axis from the ratio 1, where both sides are equal. A bar to
// the left of it is a loss and has another colour. The axis holds all ratios and their intervals.
func Ratios(title, subtitle string, bars []Bar) []byte {
	const width, edge, top, row = 960, 84, 74, 22
	labels := 32.0
	for _, b := range bars {
		labels = max(labels, 32+textWidth(b.Label))
	}
	height := top + row*len(bars) + 34
	c := newCanvas(width, height, title)
	values := []float64{1, 10, 1}
	for _, b := range bars {
		values = append(values, b.Ratio)
		if b.bounded() {
			values = append(values, b.Low, b.High)
		}
	}
	s := newLogScale(values, labels, width-edge)
	if s.low == 0.1 && slices.Min(values[2:]) > 0.35 {
		s.low = 0.3 // most of a decade would be empty
	}
	c.text(20, 48, "soft", "start", subtitle)
	bottom := float64(top + row*len(bars))
	for _, v := range s.ticks() {
		class := "grid"
		if v == 1 {
			class = "axis"
		}
		c.line(s.at(v), top-6, s.at(v), bottom+4, class)
		c.text(s.at(v), bottom+20, "soft", "middle", Times(v))
	}
	for i, b := range bars {
		drawBar(c, s, b, float64(top+row*i), labels-10)
	}
	return c.done()
}

func drawBar(c *canvas, s logScale, b Bar, y, labelEnd float64) {
	class := "ours"
	if b.Ratio < 1 {
		class = "loss"
	}
	from, to := s.at(1), s.at(b.Ratio)
	c.text(labelEnd, y+13, "", "end", b.Label)
	c.rect(min(from, to), y+3, math.Abs(to-from), 13, class)
	after := max(from, to)
	if b.bounded() {
		c.line(s.at(b.Low), y+9.5, s.at(b.High), y+9.5, "range")
		after = max(after, s.at(b.High))
	}
	c.text(after+6, y+13, "", "start", b.Text)
}
