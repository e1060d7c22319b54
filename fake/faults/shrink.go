package faults

import "strings"

// Shrink finds a small script that still makes a test fail. run does the whole test with the faults
// of a script, on a new server, and returns the failure; it must do the same each time it gets the
// same script. Shrink returns a script of which no line can be left out, and its error. A nil error
// says that the whole script does not fail. Comments and empty lines are left out as well.
//
// Start with the faults that struck in a failed run, because they contain no chance:
//
//	if err := run(script); err != nil {
//		least, why := faults.Shrink(faults.Script(server.Struck()), run)
//		t.Fatalf("seed %d: %v\nwith\n%s", seed, why, least)
//	}
//
// For n lines it calls run about n log n times, and at most about n² times.
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
	// Delta debugging: leave out ever smaller parts of the remaining lines, until every single
	// line has been tried.
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
