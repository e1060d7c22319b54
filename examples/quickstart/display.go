package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/kinform/kinform/examples/quickstart/internal/live"
)

const (
	redrawEvery = 200 * time.Millisecond
	lineEvery   = time.Second

	// How many notes are shown: below the picture, and between two lines.
	pictureNotes = 6
	lineNotes    = 5
)

// display shows frames on stdout, which may be a terminal or something else.
type display struct {
	out    io.Writer
	screen *live.Screen // nil for plain lines
	color  bool
}

func newDisplay(stdout io.Writer, plain bool) *display {
	d := &display{out: stdout}
	file, isFile := stdout.(*os.File)
	if plain || !isFile || !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return d
	}
	d.color = os.Getenv("NO_COLOR") == "" // https://no-color.org
	d.screen = live.NewScreen(stdout, func() (width, height int) {
		width, height, err := term.GetSize(int(file.Fd()))
		if err != nil || width <= 0 || height <= 0 {
			return 80, 24
		}
		return width, height
	})
	return d
}

// run shows m until ctx is done. The error comes from writing.
func (d *display) run(ctx context.Context, m *meter) error {
	if d.screen != nil {
		return d.draw(ctx, m)
	}
	return d.printLines(ctx, m)
}

func (d *display) draw(ctx context.Context, m *meter) (err error) {
	defer func() {
		if closed := d.screen.Close(); err == nil {
			err = closed
		}
	}()
	ticker := time.NewTicker(redrawEvery)
	defer ticker.Stop()
	for {
		f := m.frame(time.Now())
		f.Notes, _ = m.log.since(0, pictureNotes)
		if err := d.screen.Draw(f, d.color); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil // that was the last one
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

func (d *display) printLines(ctx context.Context, m *meter) error {
	ticker := time.NewTicker(lineEvery)
	defer ticker.Stop()
	if _, err := fmt.Fprintln(d.out, m.frame(time.Now()).Title); err != nil {
		return err
	}
	seen := 0
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		notes, total := m.log.since(seen, lineNotes)
		if left := total - seen - len(notes); left > 0 {
			fmt.Fprintf(d.out, "         … %d more\n", left)
		}
		seen = total
		for _, n := range notes {
			fmt.Fprintln(d.out, n.Line())
		}
		if _, err := fmt.Fprintln(d.out, m.frame(time.Now()).Line()); err != nil {
			return err
		}
	}
}
