package sim

import "testing"

// Found is what Search found.
type Found struct {
	Rule      string // empty if the program could not be explored
	Script    string // the shortest schedule
	Schedules int    // until it was found
	Text      string // what Explore prints
}

// Search is Explore, but it returns what it finds, or nil.
func Search(t *testing.T, program func() Program, most int) *Found {
	bad := search(t, program, most)
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
