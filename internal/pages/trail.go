// Package pages notices when the pages of a list do not come to an end.
package pages

import "errors"

// EmptyLimit is how many pages in a row may be empty. A server that selects objects after it has
// cut the pages sends empty ones: at 500 objects per page, half a million objects in a row that
// were not selected.
const EmptyLimit = 1000

var (
	errCircle = errors.New("its continue token came before")
	errEmpty  = errors.New("it is one of more than a thousand empty pages in a row")
)

// Trail remembers some of the continue tokens of a list. The zero value belongs to a list
// whose first page was just asked for. A Trail is a value: Next does not change its receiver.
type Trail struct {
	n     int    // tokens added
	mark  string // the last of them whose number is a power of two
	empty int    // the newest pages in a row without objects
}

// Next returns the trail with the token of the next page, or an error that says why the list
// does not end. last is the token that asked for the page that brought token, and empty says
// that this page had no objects. A page that leads to itself is noticed at once. A longer circle
// is noticed when it reaches the marked token again; marks lie further and further apart, so
// every circle is noticed in the end. Pages that only pretend to lead on are noticed after
// EmptyLimit of them without an object. token is not empty: that would be the end of the list.
func (t Trail) Next(last, token string, empty bool) (Trail, error) {
	if token == last || token == t.mark {
		return t, errCircle
	}
	if t.empty++; !empty {
		t.empty = 0
	}
	if t.empty > EmptyLimit {
		return t, errEmpty
	}
	if t.n++; t.n&(t.n-1) == 0 {
		t.mark = token
	}
	return t, nil
}
