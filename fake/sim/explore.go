package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kinform/kinform/fake/faults"
)

// Explore runs a program without faults, then with each single fault at each request of that run, then with several. It
// fails the test with the first schedule that breaks a rule, made as short as possible. Schedules says how many there
// are at most; zero means 1,000, or 200 with -short. Everything is in virtual time, and the same in each run.
//
// program makes the program and its surroundings. It is called for each schedule, inside the schedule's bubble.
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
	base, bad := e.base()
	if bad != nil {
		return bad, nil
	}
	out := e.play(lines, base)
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
	e.most = most
	defer e.logs.quiet()()
	base, bad := e.base()
	if bad != nil {
		return bad
	}
	e.old = base.old
	e.learn(nil, base)
	for _, next := range []func(*outcome) *report{e.singles, e.pairs, e.several} {
		if bad := next(base); bad != nil {
			return bad
		}
	}
	return nil
}

// explorer looks for a schedule that breaks a rule.
type explorer struct {
	t        *testing.T
	program  func() Program
	most     int
	played   int
	alone    int             // of them had a single fault
	single   int             // faults there are
	patience time.Duration   // for one schedule
	present  <-chan *outcome // of the schedule that plays, and may never end
	old      bool            // the program asks for lists that may be old
	seen     map[string]bool // pairs of requests that followed each other
	logs     logs
	corpus   []known // schedules that had pairs not seen before
}

func newExplorer(t *testing.T, program func() Program) *explorer {
	return &explorer{t: t, program: program, patience: patience, seen: map[string]bool{}}
}

// known is a schedule and the requests in it.
type known struct {
	lines  []line
	points []point
	watch  []string
	old    bool // it has lists that may be old
}

// base plays the schedule without faults twice.
func (e *explorer) base() (*outcome, *report) {
	base := e.play(nil, nil)
	if base.broken == nil && base.finding == nil {
		if d := base.log.parts(&e.play(nil, nil).log); d != "" {
			base.broken = fmt.Errorf("the program is not deterministic: %s", d)
		}
	}
	if base.broken != nil || base.finding != nil {
		return nil, &report{outcome: base, schedules: e.played}
	}
	return base, nil
}

// try plays a schedule. If it breaks a rule, try makes it short and returns the report.
func (e *explorer) try(lines []line, base *outcome) *report {
	out := e.play(lines, base)
	e.learn(lines, out)
	if out.finding == nil && out.broken == nil {
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
		if shorter := e.play(some, base); shorter.finding != nil {
			bad.outcome = shorter
			return fmt.Errorf("%s", shorter.finding.rule)
		}
		return nil
	})
	bad.atTimes = !e.failsAgain(bad.script, base)
	return bad
}

// failsAgain reports whether a schedule breaks a rule three times in a row.
func (e *explorer) failsAgain(text string, base *outcome) bool {
	lines, err := parseScript(text)
	for range 3 {
		if err != nil || e.play(lines, base).finding == nil {
			return false
		}
	}
	return true
}

// learn keeps a schedule in which requests followed each other that did not before.
func (e *explorer) learn(lines []line, out *outcome) {
	isNew := false
	for i := range len(out.points) - 1 {
		pair := out.points[i].call.String() + " " + out.points[i+1].call.String()
		if !e.seen[pair] {
			e.seen[pair], isNew = true, true
		}
	}
	if isNew && out.finding == nil && out.broken == nil {
		e.corpus = append(e.corpus, known{lines, out.points, watched(out.points), e.old})
	}
}

// watched returns the resources that are watched.
func watched(points []point) (all []string) {
	for _, p := range points {
		if p.verb == faults.VerbWatch && !p.upkeep() && !slices.Contains(all, p.collection()) {
			all = append(all, p.collection())
		}
	}
	return all
}

// singles tries each fault by itself at each point.
func (e *explorer) singles(base *outcome) *report {
	all := known{points: base.points, watch: watched(base.points), old: e.old}.faults()
	e.single = len(all)
	for _, l := range all {
		if e.played >= e.most {
			return nil
		}
		e.alone++
		if bad := e.try([]line{l}, base); bad != nil {
			return bad
		}
	}
	return nil
}

// pairs tries all pairs of faults of the schedule without any, if there is time for all.
func (e *explorer) pairs(base *outcome) *report {
	all := known{points: base.points, watch: watched(base.points), old: e.old}.faults()
	if n := len(all); n*(n-1)/2 > e.most-e.played {
		return nil
	}
	for i, l := range all {
		for _, second := range all[i+1:] {
			if bad := e.try([]line{l, second}, base); bad != nil {
				return bad
			}
		}
	}
	return nil
}

// several tries schedules of several faults, drawn by lot: one more in a schedule that showed something new.
func (e *explorer) several(base *outcome) *report {
	random := rand.New(rand.NewPCG(1, 2))
	for e.played < e.most && len(e.corpus) > 0 {
		from := e.corpus[random.IntN(len(e.corpus))]
		all := from.faults()
		if len(all) == 0 {
			return nil
		}
		lines := slices.Clone(from.lines)
		for range 1 + random.IntN(3) {
			lines = append(lines, all[random.IntN(len(all))])
		}
		if bad := e.try(lines, base); bad != nil {
			return bad
		}
	}
	return nil
}
