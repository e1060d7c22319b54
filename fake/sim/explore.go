package sim

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/kinform/kinform/fake/faults"
)

// Explore runs a program without faults, then with each single fault at each request of that run, then with several. It
// fails the test with the first schedule that breaks a rule, made as short as possible. Schedules says how many there
// are at most; zero means 1,000, or 200 with -short. Everything is in virtual time, and the same in each run.
//
// program makes the program and its surroundings. It is called for each schedule, and twice for the first one, inside the
// schedule's bubble.
func Explore(t *testing.T, program func() Program, schedules ...int) {
	t.Helper()
	most := 1000
	if testing.Short() {
		most = 200
	}
	if len(schedules) > 0 && schedules[0] != 0 {
		most = schedules[0]
	}
	if most < 0 {
		t.Fatalf("sim: Explore of %d schedules: want more than zero, or zero for the default", most)
	}
	e := newExplorer(t, program)
	if bad := e.search(most); bad != nil {
		t.Fatal(bad)
	}
	t.Logf("sim: no rule was broken in %d schedules, among them %d of %d with a single fault", e.played, e.alone, e.single)
}

// Replay runs one schedule, the lines that Explore printed. It fails the test with what it finds, or if a line does not
// come to pass.
func Replay(t *testing.T, program func() Program, schedule string) {
	t.Helper()
	bad, err := replay(t, program, schedule)
	switch {
	case err != nil:
		t.Fatalf("sim: %v", err)
	case bad != nil:
		t.Fatal(bad)
	}
}

// replay plays one schedule and returns what it finds. The error says that the schedule does not apply.
func replay(t *testing.T, program func() Program, schedule string) (*report, error) {
	lines, err := parseScript(schedule)
	if err != nil {
		return nil, err
	}
	e := newExplorer(t, program)
	defer e.logs.quiet()()
	if bad := e.unharmed(); bad != nil {
		return bad, nil
	}
	out := e.play(lines)
	switch {
	case out.broken != nil, out.finding != nil:
		return &report{script: script(lines), outcome: out}, nil
	case len(out.missed) > 0:
		return nil, fmt.Errorf("the schedule does not apply: there was no such request for\n%s", script(out.missed))
	}
	return nil, nil
}

// search returns what it finds in a number of schedules, or nil.
func (e *explorer) search(most int) *report {
	defer e.logs.quiet()()
	if bad := e.unharmed(); bad != nil {
		return bad
	}
	if len(faultsAt(e.base.points, e.base)) == 0 {
		e.base.broken = errors.New("the program sends no request that a fault can strike: it must use the connection that Run gets")
		return &report{outcome: e.base}
	}
	for lines := range e.schedules(most) {
		if e.played >= most {
			break
		}
		if bad := e.try(lines); bad != nil {
			return bad
		}
	}
	return nil
}

// explorer looks for a schedule that breaks a rule.
type explorer struct {
	t        *testing.T
	program  func() Program
	base     *outcome        // of the schedule without faults, once it has been played twice
	played   int             // schedules
	alone    int             // of them had a single fault
	single   int             // faults there are
	patience time.Duration   // for one schedule
	present  <-chan error    // of the schedule that plays, and may never end
	seen     map[string]bool // pairs of requests that followed each other
	corpus   []known
	logs     logs
}

// known is a schedule in which requests followed each other as they had not before, and its requests.
type known struct {
	lines  []line
	points []point
}

func newExplorer(t *testing.T, program func() Program) *explorer {
	t.Setenv("GODEBUG", os.Getenv("GODEBUG")+",tracebacklabels=1") // a panic of any goroutine shows the schedule: see play
	return &explorer{t: t, program: program, patience: patience, seen: map[string]bool{}}
}

// unharmed plays the schedule without faults twice. It returns what it finds, or nil.
func (e *explorer) unharmed() *report {
	base := e.play(nil)
	if base.broken == nil && base.finding == nil {
		again := e.play(nil)
		if d := base.log.parts(&again.log); d != "" {
			base.broken = fmt.Errorf("the program is not deterministic: %s", d)
		} else if d := base.end.differs(again.end); d != "" {
			base.broken = fmt.Errorf("the program is not deterministic: two runs without a fault end differently (- first, + second):\n%s", d)
		}
	}
	if base.broken != nil || base.finding != nil {
		return &report{outcome: base, schedules: e.played}
	}
	e.base = base
	e.learn(nil, base)
	return nil
}

// schedules returns what to try: each fault by itself at each point, all pairs of them if there is time for all, and then
// without end, drawn by lot, such pairs, and schedules that showed something new with some more faults.
func (e *explorer) schedules(most int) iter.Seq[[]line] {
	return func(yield func([]line) bool) {
		all := faultsAt(e.base.points, e.base)
		e.single = len(all)
		for _, l := range all {
			if !yield([]line{l}) {
				return
			}
			e.alone++
		}
		n := len(all)
		paired := n*(n-1)/2 <= most-e.played
		if paired {
			for i, first := range all {
				for _, second := range all[i+1:] {
					if !yield([]line{first, second}) {
						return
					}
				}
			}
		}
		random := rand.New(rand.NewPCG(1, 2))
		for {
			from, more := e.corpus[0], 2 // a pair of faults that struck alone
			if paired || random.IntN(2) > 0 {
				from, more = e.corpus[random.IntN(len(e.corpus))], 1+random.IntN(3)
			}
			all := faultsAt(from.points, e.base)
			if len(all) == 0 {
				return
			}
			lines := slices.Clone(from.lines)
			for range more {
				lines = append(lines, all[random.IntN(len(all))])
			}
			if !yield(lines) {
				return
			}
		}
	}
}

// try plays a schedule. If it breaks a rule, try makes it short and returns the report.
func (e *explorer) try(lines []line) *report {
	out := e.play(lines)
	if out.finding == nil && out.broken == nil {
		e.learn(lines, out)
		return nil
	}
	bad := &report{outcome: out, schedules: e.played}
	if out.broken != nil {
		bad.script = script(lines)
		return bad
	}
	struck := slices.DeleteFunc(slices.Clone(lines), func(l line) bool { return slices.Contains(out.missed, l) })
	bad.script, _ = faults.Shrink(script(struck), func(text string) error {
		some, err := parseScript(text)
		if err != nil {
			return nil
		}
		if shorter := e.play(some); shorter.finding != nil {
			bad.outcome = shorter
			return errors.New(shorter.finding.rule)
		}
		return nil
	})
	shortest, _ := parseScript(bad.script)
	for range 3 {
		bad.atTimes = bad.atTimes || e.play(shortest).finding == nil
	}
	return bad
}

// learn keeps a schedule in which requests followed each other that did not before.
func (e *explorer) learn(lines []line, out *outcome) {
	isNew := lines == nil
	for i := range len(out.points) - 1 {
		pair := out.points[i].call.String() + " " + out.points[i+1].call.String()
		if !e.seen[pair] {
			e.seen[pair], isNew = true, true
		}
	}
	if isNew {
		e.corpus = append(e.corpus, known{lines, out.points})
	}
}
