package chart

// Amount is one bar of a chart of amounts.
type Amount struct {
	Label  string
	Value  float64
	Text   string // written behind the bar
	Theirs bool   // client-go's, in another colour
	Apart  bool   // a space before it sets it apart from the bars above
}

// Amounts draws a bar for each amount, on a linear axis.
func Amounts(title, subtitle string, amounts []Amount) []byte {
	const width, edge, top, row, gap = 960, 110, 66, 24, 14
	labels, height, most := 32.0, top+14, 1.0
	for _, a := range amounts {
		labels, most = max(labels, 32+textWidth(a.Label)), max(most, a.Value)
		if height += row; a.Apart {
			height += gap
		}
	}
	c := newCanvas(width, height, title)
	c.text(20, 48, "soft", "start", subtitle)
	y := float64(top)
	for _, a := range amounts {
		if a.Apart {
			y += gap
		}
		class := "ours"
		if a.Theirs {
			class = "theirs"
		}
		wide := a.Value / most * (width - labels - edge)
		c.text(labels-12, y+15, "", "end", a.Label)
		c.rect(labels, y+1, wide, 19, class)
		c.text(labels+wide+8, y+15, "", "start", a.Text)
		y += row
	}
	c.line(labels, top-4, labels, y, "axis")
	return c.done()
}
