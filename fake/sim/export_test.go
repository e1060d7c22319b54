package sim

import (
	"testing"
	"time"
)

// Found is what Search found.
type Found struct {
	Rule      string // empty if the program could not be explored
	Script    string // the shortest schedule
	Schedules int    // until it was found
	Text      string // what Explore prints
}

// Search is Explore, but it returns what it finds, or nil.
func Search(t *testing.T, program func() Program, most int) *Found {
	bad := newExplorer(t, program).search(most)
	if bad == nil {
		return nil
	}
	f := &Found{Script: bad.script, Schedules: bad.schedules, Text: bad.Error()}
	if bad.outcome.finding != nil {
		f.Rule = bad.outcome.finding.rule
	}
	return f
}

// Again plays a schedule, and returns the text of what it finds, or "".
func Again(t *testing.T, program func() Program, schedule string) string {
	bad, err := replay(t, program, schedule)
	switch {
	case err != nil:
		return err.Error()
	case bad != nil:
		return bad.Error()
	}
	return ""
}

// Transcripts plays single faults, one in every few, and returns what happened.
func Transcripts(t *testing.T, program func() Program, every int) (all []string) {
	e := newExplorer(t, program)
	if bad := e.unharmed(); bad != nil {
		t.Fatal(bad)
	}
	for i, l := range faultsAt(e.base.points, e.base) {
		if i%every > 0 || l.behind > 0 { // a list: see the limits in the package comment
			continue
		}
		out := e.play([]line{l})
		all = append(all, script([]line{l})+out.log.around(0, 0, 1<<30))
	}
	return all
}

// Transcript plays a schedule, and returns what happened.
func Transcript(t *testing.T, program func() Program, schedule string) string {
	e := newExplorer(t, program)
	if bad := e.unharmed(); bad != nil {
		t.Fatal(bad)
	}
	lines, err := parseScript(schedule)
	if err != nil {
		t.Fatal(err)
	}
	return e.play(lines).log.around(0, 0, 1<<30)
}

// Trouble plays the schedule without faults, which may take a short time only. It returns why the program cannot be
// explored. If that is a schedule that hangs, it waits for its end after free, which must let it go on.
func Trouble(t *testing.T, program func() Program, patience time.Duration, free func()) (text string) {
	e := newExplorer(t, program)
	e.patience = patience
	if bad := e.unharmed(); bad != nil {
		text = bad.Error()
	}
	if free != nil {
		free()
		<-e.present
	}
	return text
}

// Reread reads a schedule and writes it again.
func Reread(text string) (string, error) {
	lines, err := parseScript(text)
	return script(lines), err
}
