package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
)

// byKey makes a terminal pass on each key at once and unseen. restore sets it back, and may be
// called more than once. ok is false if in is no terminal, or if there is no program stty, which
// every Unix has. Ctrl-C is a signal as before.
func byKey(in *os.File) (restore func(), ok bool) {
	before, err := stty(in, "-g")
	if err != nil {
		return func() {}, false
	}
	restore = func() { _, _ = stty(in, strings.TrimSpace(before)) }
	if _, err := stty(in, "-icanon", "-echo", "min", "1"); err != nil {
		restore()
		return func() {}, false
	}
	return restore, true
}

func stty(in *os.File, args ...string) (string, error) {
	run := exec.Command("stty", args...)
	run.Stdin = in
	out, err := run.Output()
	return string(out), err
}

// quits reports whether q comes from in: a key, or a line if keys do not come one by one. It
// returns false at the end of in.
func quits(in io.Reader, keys bool) bool {
	from := bufio.NewReader(in)
	for {
		if keys {
			switch key, err := from.ReadByte(); {
			case err != nil:
				return false
			case key == 'q' || key == 'Q':
				return true
			}
			continue
		}
		line, err := from.ReadString('\n')
		if strings.TrimSpace(line) == "q" {
			return true
		}
		if err != nil {
			return false
		}
	}
}
