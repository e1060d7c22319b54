package fake

import "strings"

// Shrink looks for a small script that still makes a test fail. run does the whole test
// with the faults of a script, on a server of its own, and returns what went wrong: it
// must do the same each time that it gets the same script. Shrink returns a script of
// which no line can be left out, and the error of that; an error of nil says that the
// whole script does not fail. Comments and empty lines go as well.
//
// Start with what happened in a failed run, which has no chance in it:
//
//	if err := run(script); err != nil {
//		least, why := fake.Shrink(fake.Script(server.Struck()), run)
//		t.Fatalf("seed %d: %v\nwith\n%s", seed, why, least)
//	}
//
// It calls run about as often as n log n for n lines, at most about n².
func Shrink(script string, run func(script string) error) (string, error) {
	var lines []string
	for line := range strings.Lines(script) {
		if bare, _, _ := strings.Cut(line, "#"); strings.TrimSpace(bare) != "" {
			lines = append(lines, strings.TrimSpace(bare)+"\n")
		}
	}
	last := run(strings.Join(lines, ""))
	if last == nil {
		return script, nil
	}
	// Delta debugging: leave out ever smaller parts, each time from the whole of what
	// is left, until single lines have all been tried.
	for size := max(len(lines)/2, 1); len(lines) > 0; {
		smaller := false
		for from := 0; from < len(lines); {
			rest := append(append([]string(nil), lines[:from]...), lines[min(from+size, len(lines)):]...)
			if err := run(strings.Join(rest, "")); err != nil {
				lines, last, smaller = rest, err, true
				continue
			}
			from += size
		}
		if size == 1 && !smaller {
			break
		}
		size = max(size/2, 1)
	}
	return strings.Join(lines, ""), last
}
