// Package pages notices when the pages of a list go round in a circle.
package pages

// Trail remembers some of the continue tokens of a list. The zero value belongs to a list
// whose first page was just asked for. A Trail is a value: Add does not change its receiver.
type Trail struct {
	n    int    // tokens added
	mark string // the last of them whose number is a power of two
}

// Turns reports whether the list goes round in a circle: the server has sent token before.
// last is the token that asked for the page, and token came with that page. A page that leads
// to itself is noticed at once. A longer circle is noticed when it reaches the marked token
// again; marks lie further and further apart, so every circle is noticed in the end. The
// empty token ends a list and never turns.
func (t Trail) Turns(last, token string) bool {
	return token != "" && (token == last || token == t.mark)
}

// Add returns the trail with the token of the next page.
func (t Trail) Add(token string) Trail {
	if t.n++; t.n&(t.n-1) == 0 {
		t.mark = token
	}
	return t
}
