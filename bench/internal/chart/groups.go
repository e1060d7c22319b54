package chart

// Pair is one group of a chart of amounts: the amounts of both sides.
type Pair struct {
	Label                string
	Ours, Theirs         float64
	OursText, TheirsText string // written after the bars
}

// Pairs draws two bars for each pair, on a linear axis.
func Pairs(title, subtitle string, pairs []Pair) []byte {
	const width, labels, edge, top, group = 960, 110, 140, 70, 62
	c := newCanvas(width, top+group*len(pairs)+14, title)
	c.text(20, 48, "soft", "start", subtitle)
	var most float64
	for _, p := range pairs {
		most = max(most, p.Ours, p.Theirs)
	}
	wide := func(v float64) float64 { return v / max(most, 1) * (width - labels - edge) }
	for i, p := range pairs {
		y := float64(top + group*i)
		c.text(labels-12, y+27, "", "end", p.Label)
		c.rect(labels, y+2, wide(p.Ours), 19, "ours")
		c.text(labels+wide(p.Ours)+8, y+16, "", "start", "kinform "+p.OursText)
		c.rect(labels, y+25, wide(p.Theirs), 19, "theirs")
		c.text(labels+wide(p.Theirs)+8, y+39, "", "start", "client-go "+p.TheirsText)
	}
	c.line(labels, top-4, labels, float64(top+group*len(pairs)-8), "axis")
	return c.done()
}
