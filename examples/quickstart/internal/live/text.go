package live

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// style is the appearance of a piece of a line if colours are allowed. It is the parameter
// of an SGR escape sequence.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
)

// piece is a part of a line. Its text is one terminal cell per rune.
type piece struct {
	style style
	text  string
}

// line is one line of a picture.
type line []piece

// add appends text. The text may come from a server, so add removes characters that would
// confuse a terminal.
func (l *line) add(s style, text string) { *l = append(*l, piece{s, printable(text)}) }

// width returns the number of cells of l.
func (l line) width() int {
	n := 0
	for _, p := range l {
		n += utf8.RuneCountInString(p.text)
	}
	return n
}

// render appends l to b, cut off at width.
func (l line) render(b *strings.Builder, width int, color bool) {
	for _, p := range l {
		text := cut(p.text, width)
		width -= utf8.RuneCountInString(text)
		if color && p.style != plain && text != "" {
			b.WriteString("\x1b[" + string(p.style) + "m" + text + "\x1b[0m")
		} else {
			b.WriteString(text)
		}
	}
}

// cut returns the first width runes of s. If it removes any, the last rune is an ellipsis.
func cut(s string, width int) string {
	if width <= 0 {
		return ""
	}
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}

// printable returns s on one line and without control characters.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)
}

// left and right pad s with spaces to width runes.
func left(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

func right(s string, width int) string {
	return strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s))) + s
}

// Count formats n with separated thousands: 12,345.
func Count[N int | uint64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

// perSecond formats a rate.
func perSecond(rate float64) string { return Count(int(rate+0.5)) + "/s" }

// seconds formats d in seconds, with one decimal.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s" }

// bar returns a bar of width cells. part, between 0 and 1, says how full it is.
func bar(part float64, width int) (full, rest string) {
	n := int(min(max(part, 0), 1)*float64(width) + 0.5)
	return strings.Repeat("█", n), strings.Repeat("░", width-n)
}

// graph draws the last width of values, one cell each. The highest of them has full height.
func graph(values []float64, width int) string {
	if len(values) > width {
		values = values[len(values)-width:]
	}
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	levels := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, v := range values {
		level := 0
		if top > 0 {
			level = int(max(v, 0) / top * float64(len(levels)-1))
		}
		b.WriteRune(levels[level])
	}
	return b.String()
}
