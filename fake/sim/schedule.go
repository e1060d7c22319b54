package sim

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/fake/internal/arguments"
)

// point is one request of a schedule: the nth that asks for the same.
type point struct {
	call
	n int // from 1; zero for one that has no number
}

func (p point) String() string {
	if p.n <= 1 {
		return p.call.String()
	}
	return fmt.Sprintf("%v call=%d", p.call, p.n)
}

// action is what happens at a point.
type action string

const (
	crashBefore action = "crash before" // the process ends, and the server does not get the request
	crashAfter  action = "crash after"  // the process ends, and the server has carried the request out
	lose        action = "lose"         // the server carries it out, and the answer is lost
	refuse      action = "refuse"       // the server refuses it, with a code
	delay       action = "delay"        // the server gets it later
	late        action = "late"         // the server carries it out, and the answer comes later than the events of it
	touch       action = "touch"        // another client annotates the object first
	users       action = "users"        // users go on with their next step first
	hold        action = "hold"         // from here on, events of one resource come later
	blind       action = "blind"        // the watch of one resource breaks, cannot resume, and comes back later
	forbid      action = "forbid"       // from here on, the process has no rights to the resource in the namespace
	freeze      action = "freeze"       // from here on, the process is cut off from the server
)

// line is one fault of a schedule. It happens once.
type line struct {
	action action
	at     point
	by     time.Duration // how long, for delay, late, hold, blind, forbid and freeze
	watch  string        // the resource, for hold and blind
	code   int           // for refuse
	behind int           // for crashes: the new process's lists are that many versions old
}

func (l line) String() string {
	text := string(l.action) + " " + l.at.String()
	if l.by > 0 {
		text += " by=" + l.by.String()
	}
	if l.watch != "" {
		text += " watch=" + l.watch
	}
	if l.code > 0 {
		text += fmt.Sprintf(" code=%d", l.code)
	}
	if l.behind > 0 {
		text += fmt.Sprintf(" behind=%d", l.behind)
	}
	return text
}

// script is a schedule as text, a line for each fault.
func script(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.String() + "\n")
	}
	return b.String()
}

// parseScript is the inverse of script. Empty lines and comments, which begin with a hash, are left out.
func parseScript(text string) (lines []line, err error) {
	for number, words := range arguments.Lines(text) {
		l, err := parseLine(words)
		if err != nil {
			return nil, fmt.Errorf("line %d of the script: %w", number, err)
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// takes lists the arguments of each action beside call. All are needed but behind.
var takes = map[action][]string{
	crashBefore: {"behind"}, crashAfter: {"behind"}, lose: nil, refuse: {"code"}, delay: {"by"}, late: {"by"}, touch: nil, users: nil,
	hold: {"by", "watch"}, blind: {"by", "watch"}, forbid: {"by"}, freeze: {"by"},
}

func parseLine(words []string) (l line, err error) {
	l.action, words = action(words[0]), words[1:]
	if l.action == "crash" && len(words) > 0 {
		l.action, words = action("crash "+words[0]), words[1:]
	}
	names, known := takes[l.action]
	switch {
	case !known:
		return l, fmt.Errorf("unknown action %q", l.action)
	case len(words) < 3:
		return l, fmt.Errorf("%s: want a verb, a resource and a key after it", l.action)
	}
	args := arguments.Of(words[3:])
	l.at = point{call{faults.Verb(words[0]), words[1], words[2]}, args.Number("call", 1, 1, math.MaxInt)}
	if l.at.call == step && l.action != hold && l.action != blind {
		args.Fail("want hold or blind at a step of users")
	}
	for _, name := range names {
		switch name {
		case "by":
			if l.by = args.Duration("by"); l.by > time.Hour {
				args.Fail("by=%v: want at most an hour", l.by)
			}
		case "watch":
			if l.watch, _ = args.Take("watch"); l.watch == "" {
				args.Fail("watch is missing")
			}
		case "code":
			l.code = args.Number("code", -1, 400, 599)
		case "behind":
			l.behind = args.Number("behind", 0, 1, math.MaxInt)
		}
	}
	if err := args.Done(); err != nil {
		return l, fmt.Errorf("%s: %w", l.action, err)
	}
	return l, nil
}
