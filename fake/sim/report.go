package sim

import (
	"fmt"
	"strings"
)

// report is what [Explore] found: a schedule that breaks a rule.
type report struct {
	script    string // one line for each fault; empty if the rule is broken without faults
	schedules int    // how many were played until then
	atTimes   bool   // not each run with it breaks a rule

	outcome *outcome
}

// Error implements error.
func (r *report) Error() string {
	if r.outcome.broken != nil {
		text := fmt.Sprintf("sim: cannot explore: %v", r.outcome.broken)
		if r.script != "" {
			text += "\nIt was this schedule:\n" + indent(r.script)
		}
		return text
	}
	f := r.outcome.finding
	how := "without any fault"
	if r.script != "" {
		how = fmt.Sprintf("with these faults, which sim.Replay repeats:\n%s", indent(r.script))
	}
	if r.atTimes {
		how += "(not each time: something depends on which of two goroutines is first)\n"
	}
	return fmt.Sprintf("sim: rule %q does not hold %s\n%s\nwhat happened around it:\n%s", f.rule, how, f.text, r.outcome.log.around(f.at, 15, 5))
}

func indent(text string) string {
	return "    " + strings.TrimSuffix(strings.ReplaceAll(text, "\n", "\n    "), "    ")
}
