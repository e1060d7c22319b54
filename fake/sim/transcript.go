package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/kinform/kinform/fake/faults"
)

// transcript is what happened in a run, one thing after the other. It has no times, since clients draw backoffs by lot.
// For the same reason it leaves out that an open watch was asked for again.
type transcript struct{ rows []row }

type row struct {
	text   string
	fault  bool
	writes bool
	upkeep bool // it went well, so excerpts leave it out
}

func (t *transcript) len() int { return len(t.rows) }

func (t *transcript) add(text string) { t.rows = append(t.rows, row{text: text}) }

func (t *transcript) fault(l line) { t.rows = append(t.rows, row{text: l.String(), fault: true}) }

// request notes a request that the server is about to get, and returns its row.
func (t *transcript) request(o *op) int {
	t.rows = append(t.rows, row{text: fmt.Sprintf("process %d: %v", o.life.process, o.at), writes: o.at.writes() && !o.at.upkeep()})
	return len(t.rows) - 1
}

// answer completes the row of a request.
func (t *transcript) answer(at int, o *op) {
	t.rows[at].upkeep = o.at.upkeep() && o.code > 0 && o.code < http.StatusMultipleChoices
	switch {
	case o.at.verb == faults.VerbWatch && o.code == http.StatusOK && o.at.n != 1:
		t.rows = slices.Delete(t.rows, at, at+1)
	case o.code == 0:
		t.rows[at].text += " → no answer"
	case o.message != "":
		t.rows[at].text += fmt.Sprintf(" → %d %s", o.code, o.message)
	default:
		t.rows[at].text += fmt.Sprintf(" → %d", o.code)
	}
}

// around returns the rows before and after one, and all faults with some rows after each.
func (t *transcript) around(at, before, after int) string {
	var b strings.Builder
	skipped, near := false, 0 // rows after a fault
	from, to := at, at
	for ; from > 0 && before > 0; from-- {
		if !t.rows[from-1].upkeep {
			before--
		}
	}
	for ; to < len(t.rows) && after > 0; to++ {
		if !t.rows[to].upkeep {
			after--
		}
	}
	for i, r := range t.rows {
		switch {
		case r.upkeep:
		case i >= from && i < to, r.fault, near > 0:
			if near--; r.fault {
				near = 8
			}
			if skipped {
				b.WriteString("      …\n")
			}
			mark := " "
			if r.fault {
				mark = "!"
			}
			fmt.Fprintf(&b, "%s%4d %s\n", mark, i+1, r.text)
			skipped = false
		default:
			skipped = true
		}
	}
	return b.String()
}

// last returns the last rows.
func (t *transcript) last(n int) string { return t.around(len(t.rows), n, 0) }

// writes returns the last writes.
func (t *transcript) writes(n int) string {
	var rows []string
	for _, r := range slices.Backward(t.rows) {
		if r.writes && len(rows) < n {
			rows = append(rows, "  "+r.text)
		}
	}
	slices.Reverse(rows)
	return strings.Join(rows, "\n")
}

// parts returns where two transcripts of one schedule differ, or "". They may have the same things in another order: the
// lists of client-go's caches have the order of a map.
func (t *transcript) parts(other *transcript) string {
	if slices.Equal(t.sorted(), other.sorted()) {
		return ""
	}
	for i := range max(len(t.rows), len(other.rows)) {
		one, two := "the end", "the end"
		if i < len(t.rows) {
			one = t.rows[i].text
		}
		if i < len(other.rows) {
			two = other.rows[i].text
		}
		if one != two {
			return fmt.Sprintf("the first runs have %q and %q as step %d, after\n%s", one, two, i+1, t.around(i, 3, 0))
		}
	}
	return ""
}

func (t *transcript) sorted() (texts []string) {
	for _, r := range t.rows {
		texts = append(texts, r.text)
	}
	slices.Sort(texts)
	return texts
}
