// Package chart draws the few kinds of charts for the results, as SVG files that suit light
// and dark pages.
package chart

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// style has the colours of both modes. A chart has its own background: an image in a page sees the
// mode of the viewer's system, and the page's mode may differ.
const style = `<style>
text { font: 12px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
.ground { fill: #ffffff } .title { font-size: 15px; font-weight: 600 } .soft { fill: #59636e; font-size: 11px }
.grid { stroke: #d8dee4 } .axis { stroke: #8c959f } .range { stroke: #1f2328; opacity: .45 }
.ours { fill: #2563eb } .theirs { fill: #a3acb6 } .loss { fill: #c026a3 }
.ours-line { stroke: #2563eb; fill: none; stroke-width: 2.5 } .theirs-line { stroke: #8c959f; fill: none; stroke-width: 2.5 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .ground { fill: #0d1117 } .soft { fill: #9198a1 }
.grid { stroke: #2a313a } .axis { stroke: #656c76 } .range { stroke: #f0f6fc }
.ours { fill: #4c8dff } .theirs { fill: #5d6773 } .loss { fill: #e05fc8 }
.ours-line { stroke: #4c8dff } .theirs-line { stroke: #7d8794 }
}
</style>
`

// canvas collects the elements of one chart.
type canvas struct {
	b             strings.Builder
	width, height int
}

func newCanvas(width, height int, title string) *canvas {
	c := &canvas{width: width, height: height}
	fmt.Fprintf(&c.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&c.b, "<title>%s</title>\n", html.EscapeString(title))
	c.b.WriteString(style)
	fmt.Fprintf(&c.b, `<rect class="ground" width="%d" height="%d" rx="8"/>`+"\n", width, height)
	c.text(20, 28, "title", "start", title)
	return c
}

// done returns the file.
func (c *canvas) done() []byte { return []byte(c.b.String() + "</svg>\n") }

// num is a coordinate: a tenth of a pixel is as fine as it gets.
func num(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// textWidth is about the width of s in pixels, rather more than less: fonts differ.
func textWidth(s string) float64 { return 6.6 * float64(utf8.RuneCountInString(s)) }

// text writes s so that anchor (start, middle or end) of its base line is at x, y.
func (c *canvas) text(x, y float64, class, anchor, s string) {
	fmt.Fprintf(&c.b, `<text x="%s" y="%s" class="%s" text-anchor="%s">%s</text>`+"\n", num(x), num(y), class, anchor, html.EscapeString(s))
}

func (c *canvas) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&c.b, `<line x1="%s" y1="%s" x2="%s" y2="%s" class="%s"/>`+"\n", num(x1), num(y1), num(x2), num(y2), class)
}

func (c *canvas) rect(x, y, width, height float64, class string) {
	fmt.Fprintf(&c.b, `<rect x="%s" y="%s" width="%s" height="%s" rx="2" class="%s"/>`+"\n", num(x), num(y), num(max(width, 1)), num(height), class)
}

func (c *canvas) dot(x, y float64, class string) {
	fmt.Fprintf(&c.b, `<circle cx="%s" cy="%s" r="3.5" class="%s"/>`+"\n", num(x), num(y), class)
}

func (c *canvas) path(points [][2]float64, class string) {
	var d strings.Builder
	for i, p := range points {
		d.WriteString(map[bool]string{true: "M", false: "L"}[i == 0])
		d.WriteString(num(p[0]) + " " + num(p[1]))
	}
	fmt.Fprintf(&c.b, `<path d="%s" class="%s"/>`+"\n", d.String(), class)
}

// logScale maps values from low to high to pixels from, to.
type logScale struct{ low, high, from, to float64 }

// newLogScale returns a scale of whole powers of ten that all values fit on.
func newLogScale(values []float64, from, to float64) logScale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	if low > high {
		low, high = 1, 10
	}
	s := logScale{
		low: math.Pow(10, math.Floor(math.Log10(low)+1e-9)), high: math.Pow(10, math.Ceil(math.Log10(high)-1e-9)),
		from: from, to: to,
	}
	if s.high <= s.low {
		s.high = s.low * 10
	}
	return s
}

func (s logScale) at(v float64) float64 {
	v = min(max(v, s.low), s.high)
	return s.from + (s.to-s.from)*math.Log10(v/s.low)/math.Log10(s.high/s.low)
}

// ticks are the powers of ten on the scale.
func (s logScale) ticks() []float64 {
	var out []float64
	for v := math.Pow(10, math.Ceil(math.Log10(s.low)-1e-9)); v <= s.high*1.001; v *= 10 {
		out = append(out, v)
	}
	return out
}
