package live

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// terminal implements the part of a terminal that a Screen uses. Any other input is an
// error.
type terminal struct {
	t             *testing.T
	width, height int
	rows          [][]rune // the rows that have scrolled away come first
	row, col      int
	hidden        bool
	wrapOff       bool
}

func (m *terminal) Write(p []byte) (int, error) {
	s := string(p)
	for s != "" {
		if rest, ok := strings.CutPrefix(s, "\x1b["); ok {
			end := strings.IndexFunc(rest, func(r rune) bool { return r >= '@' && r <= '~' })
			if end < 0 {
				m.t.Fatalf("broken escape sequence in %q", p)
			}
			m.escape(rest[:end+1])
			s = rest[end+1:]
			continue
		}
		r := []rune(s)[0]
		m.put(r)
		s = s[len(string(r)):]
	}
	return len(p), nil
}

func (m *terminal) put(r rune) {
	for len(m.rows) <= m.row {
		m.rows = append(m.rows, nil)
	}
	switch r {
	case '\r':
		m.col = 0
	case '\n':
		m.row++
	default:
		if r < ' ' || m.col >= m.width {
			m.t.Fatalf("%q written in column %d of %d", r, m.col, m.width)
		}
		row := m.rows[m.row]
		for len(row) <= m.col {
			row = append(row, ' ')
		}
		row[m.col] = r
		m.rows[m.row] = row
		m.col++
	}
}

func (m *terminal) escape(seq string) {
	top := max(0, len(m.rows)-m.height)
	switch n := 0; {
	case seq == "?25l", seq == "?25h":
		m.hidden = seq == "?25l"
	case seq == "?7l", seq == "?7h":
		m.wrapOff = seq == "?7l"
	case seq == "K":
		if m.row < len(m.rows) && len(m.rows[m.row]) > m.col {
			m.rows[m.row] = m.rows[m.row][:m.col]
		}
	case seq == "J":
		if m.row < len(m.rows) {
			m.rows = m.rows[:m.row]
		}
	case strings.HasSuffix(seq, "m"):
	case strings.HasSuffix(seq, "A"):
		if _, err := fmt.Sscanf(seq, "%dA", &n); err != nil || m.row-n < top {
			m.t.Fatalf("%q in row %d, with row %d on top", seq, m.row, top)
		}
		m.row -= n
	default:
		m.t.Fatalf("escape sequence %q", seq)
	}
}

func (m *terminal) text() []string {
	out := make([]string, len(m.rows))
	for i, r := range m.rows {
		out[i] = string(r)
	}
	return out
}

func TestScreen(t *testing.T) {
	term := &terminal{t: t, width: 81, height: 24}
	known := true
	s := NewScreen(term, func() (int, int) {
		if !known {
			return 0, 0
		}
		return term.width, term.height
	})
	if _, err := term.Write([]byte("$ quickstart\r\n")); err != nil {
		t.Fatal(err)
	}
	drawAs := func(f, shown Frame, lines int) {
		t.Helper()
		if err := s.Draw(f, true); err != nil {
			t.Fatal(err)
		}
		want := append([]string{"$ quickstart"}, shown.Picture(term.width-1, false)[:lines]...)
		if got := term.text(); !slices.Equal(got, want) {
			t.Errorf("the screen has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if !term.hidden || !term.wrapOff {
			t.Error("cursor or line wrap is on")
		}
	}
	draw := func(f Frame, lines int) {
		t.Helper()
		drawAs(f, f, lines)
	}
	small := Frame{Title: "small"}
	draw(small, 7)
	draw(working(), 15) // grows
	draw(small, 7)      // shrinks: the larger one leaves nothing behind
	term.height = 15    // one line too few
	f := working()
	f.Notes = f.Notes[1:]
	drawAs(working(), f, 14)
	draw(small, 7)
	term.width, term.height = 30, 10             // the user makes the window smaller
	draw(working(), 9)                           // one row stays for the cursor
	draw(Frame{Elapsed: time.Hour, Total: 1}, 7) // larger again
	known = false                                // a terminal that does not know its size
	if err := s.Draw(working(), false); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if term.hidden || term.wrapOff || term.col != 0 {
			t.Error("the terminal is not as it was")
		}
	}
}

func TestScreenThatWasNotUsed(t *testing.T) {
	term := &terminal{t: t, width: 80, height: 24}
	s := NewScreen(term, nil)
	if err := s.Close(); err != nil || len(term.rows) > 0 {
		t.Errorf("Close: %v, and the screen has %q", err, term.text())
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errBroken }

var errBroken = errors.New("broken pipe")

func TestScreenReportsErrors(t *testing.T) {
	s := NewScreen(brokenPipe{}, func() (int, int) { return 80, 24 })
	if err := s.Draw(Frame{}, false); !errors.Is(err, errBroken) {
		t.Errorf("Draw returned %v", err)
	}
	if err := s.Close(); !errors.Is(err, errBroken) {
		t.Errorf("Close returned %v", err)
	}
}
