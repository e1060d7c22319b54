package live

import (
	"io"
	"strconv"
	"strings"
)

// Escape sequences (ECMA-48).
const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	noWrap     = "\x1b[?7l"
	wrap       = "\x1b[?7h"
	clearLine  = "\x1b[K"
	clearDown  = "\x1b[J"
)

// Screen draws pictures on a terminal, each in the place of the one before, below the text
// that was there already. Close it, or the cursor stays hidden. One goroutine at a time.
type Screen struct {
	out   io.Writer
	size  func() (width, height int)
	lines int // of the present picture
	began bool
}

// NewScreen returns a screen on the terminal out. It calls size for every picture, which
// returns the terminal's present size.
func NewScreen(out io.Writer, size func() (width, height int)) *Screen {
	return &Screen{out: out, size: size}
}

// Draw draws f. It leaves out the lines that do not fit, the oldest notes first. It returns
// the terminal's error.
func (s *Screen) Draw(f Frame, color bool) error {
	width, height := s.size()
	// If the last column has text, clearLine would clear that.
	lines := f.Picture(width-1, color)
	// The cursor is on the line below the picture. Without room for it the terminal would
	// scroll, and the next picture would not be in the same place.
	room := max(1, height-1)
	if over := len(lines) - room; over > 0 {
		f.Notes = f.Notes[min(over, len(f.Notes)):]
		lines = f.Picture(width-1, color)
		lines = lines[:min(len(lines), room)]
	}
	var b strings.Builder
	if !s.began {
		b.WriteString(hideCursor + noWrap)
		s.began = true
	}
	if s.lines > 0 {
		b.WriteString("\x1b[" + strconv.Itoa(min(s.lines, room)) + "A\r")
	}
	for _, l := range lines {
		b.WriteString(l + clearLine + "\r\n")
	}
	b.WriteString(clearDown)
	s.lines = len(lines)
	_, err := io.WriteString(s.out, b.String())
	return err
}

// Close leaves the last picture unchanged and shows the cursor below it. Closing again does
// nothing.
func (s *Screen) Close() error {
	if !s.began {
		return nil
	}
	s.began, s.lines = false, 0
	_, err := io.WriteString(s.out, wrap+showCursor)
	return err
}
