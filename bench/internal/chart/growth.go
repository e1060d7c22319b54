package chart

import "math"

// Panel is one operation of a chart of growth.
type Panel struct {
	Title string
	// Sizes are numbers of objects, ascending; Ours and Theirs are nanoseconds at each.
	Sizes, Ours, Theirs []float64
}

const panelWidth, panelHeight = 470, 240

// Growth draws panels in two columns, with logarithmic axes.
func Growth(title string, panels []Panel) []byte {
	const top = 66
	rows := (len(panels) + 1) / 2
	c := newCanvas(2*panelWidth+20, top+rows*panelHeight, title)
	c.text(20, 48, "soft", "start", "Time per operation over the number of objects of some 400 bytes in the store; both axes are logarithmic.")
	c.rect(740, 39, 10, 10, "ours")
	c.text(756, 48, "", "start", "kinform")
	c.rect(824, 39, 10, 10, "theirs")
	c.text(840, 48, "", "start", "client-go")
	for i, p := range panels {
		drawPanel(c, p, float64(10+i%2*panelWidth), float64(top+i/2*panelHeight))
	}
	return c.done()
}

func drawPanel(c *canvas, p Panel, left, top float64) {
	const insetLeft, insetRight, insetTop, insetBottom = 64, 20, 26, 36
	bottom, right := top+panelHeight-insetBottom, left+panelWidth-insetRight
	x := newLogScale(p.Sizes, left+insetLeft, right)
	values := append(append([]float64{}, p.Ours...), p.Theirs...)
	y := newLogScale(values, bottom, top+insetTop)
	c.text(left+insetLeft, top+14, "", "start", p.Title)
	for _, v := range y.ticks() {
		c.line(left+insetLeft, y.at(v), right, y.at(v), "grid")
		c.text(left+insetLeft-8, y.at(v)+4, "soft", "end", Nanoseconds(v))
	}
	for _, v := range x.ticks() {
		c.text(x.at(v), bottom+18, "soft", "middle", count(v))
	}
	drawLine(c, x, y, p.Sizes, p.Theirs, "theirs")
	drawLine(c, x, y, p.Sizes, p.Ours, "ours")
}

func drawLine(c *canvas, x, y logScale, sizes, values []float64, class string) {
	points := make([][2]float64, len(values))
	for i, v := range values {
		points[i] = [2]float64{x.at(sizes[i]), y.at(v)}
	}
	c.path(points, class+"-line")
	for _, p := range points {
		c.dot(p[0], p[1], class)
	}
}

// count formats a number of objects, such as "100k".
func count(v float64) string {
	switch {
	case v >= 1e6:
		return Short(math.Round(v/1e5)/10) + "M"
	case v >= 1e3:
		return Short(math.Round(v/1e2)/10) + "k"
	}
	return Short(v)
}
