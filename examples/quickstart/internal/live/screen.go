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

// Screen draws pictures on a terminal, each over the one before, below what was there
// already. Close it, or the cursor stays hidden. One goroutine at a time.
type Screen struct {
	out   io.Writer
	size  func() (width, height int)
	lines int // of the picture that is drawn
	began bool
}

// NewScreen returns a screen on the terminal out. size returns how large it is now, and
// is called for every picture.
func NewScreen(out io.Writer, size func() (width, height int)) *Screen {
	return &Screen{out: out, size: size}
}

// Draw draws f. What does not fit is left out, the oldest notes first. The error is the
// terminal's.
func (s *Screen) Draw(f Frame, color bool) error {
	width, height := s.size()
	// With text in the last column, clearLine would clear that.
	lines := f.Picture(width-1, color)
	// The line below the picture has the cursor; without room for it the terminal would
	// scroll, and the next picture would not meet this one.
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

// Close leaves the last picture as it is and gives the cursor back, below it. Closing
// again does nothing.
func (s *Screen) Close() error {
	if !s.began {
		return nil
	}
	s.began, s.lines = false, 0
	_, err := io.WriteString(s.out, wrap+showCursor)
	return err
}
