// Package pages notices when the pages of a list go round in a circle.
package pages

// Trail is what is kept of a list's continue tokens for that. Its zero value is that of a
// list that has begun. It is a value: Add leaves the one that it is called on as it was.
type Trail struct {
	n    int    // tokens added
	mark string // the last of them whose number is a power of two
}

// Turns reports whether token, which came with the page that last had asked for, was there
// before, so that the pages would have no end. That of the page before is noticed at once,
// and a longer circle when it comes to the mark for the second time: marks are further and
// further apart. The empty token, which ends a list, turns nowhere.
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
