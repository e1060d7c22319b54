package sim

import (
	"fmt"
	"strings"
)

// Report is what [Explore] found: a schedule that breaks a rule.
type Report struct {
	// Script is the schedule, one line for each fault, for [Replay]. It is empty if the rule is broken without faults.
	Script string
	// Schedules is how many schedules were played until then.
	Schedules int

	outcome *outcome
}

// Rule returns the name of the rule, or "" if the program could not be explored.
func (r *Report) Rule() string {
	if r.outcome.finding == nil {
		return ""
	}
	return r.outcome.finding.rule
}

// Error implements error.
func (r *Report) Error() string {
	if r.outcome.broken != nil {
		text := broken(r.outcome.broken)
		if r.Script != "" {
			text += "\nIt was this schedule:\n" + indent(r.Script)
		}
		return text
	}
	f := r.outcome.finding
	how := "without any fault"
	if r.Script != "" {
		how = fmt.Sprintf("with these faults, which sim.Replay repeats:\n%s", indent(r.Script))
	}
	return fmt.Sprintf("sim: rule %q does not hold %s\n%s\nwhat happened around it:\n%s", f.rule, how, f.text, r.outcome.log.around(f.at, 15, 5))
}

func broken(err error) string { return fmt.Sprintf("sim: cannot explore: %v", err) }

func indent(text string) string {
	return "    " + strings.TrimSuffix(strings.ReplaceAll(text, "\n", "\n    "), "    ")
}
