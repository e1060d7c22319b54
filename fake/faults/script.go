package faults

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake/internal/arguments"
)

// ErrScript says that a script does not parse.
var ErrScript = errors.New("invalid script")

// Parse reads the faults of a script, for Server.Inject. Each line is a fault; a hash begins a
// comment.
//
//	refuse list pods code=429 retry-after=1 call=2
//	drop watch pods after=3
//	truncate * deployments.apps bytes=100 chance=0.1 seed=7
//
// A line begins with the action: refuse (code, reason, retry-after in seconds), drop (after a
// number of events or objects), truncate (after a number of bytes), silence (after), duplicate
// and reorder (event), delay (by a duration such as 2s, after), expire, jump (by), restart
// (history=keep or lose). The verb and the resource of the calls follow, * for any. Four arguments
// go with each action:
//
//   - call=3 is the number, counted from 1, of the first call that can be struck.
//   - times=2 is the number of calls that are struck, 1 or more, and times=all strikes all from
//     that call on. Without it the fault strikes one call or, with a chance, all that the dice hit.
//   - chance=0.1 and seed=7 are Chance and Seed of [Fault].
//
// Error: [ErrScript], with the number of the line, also for times=0 and times=-1.
func Parse(text string) ([]Fault, error) {
	var faults []Fault
	for number, words := range arguments.Lines(text) {
		f, err := parseFault(words)
		if err != nil {
			return nil, fmt.Errorf("faults: %w: line %d: %w", ErrScript, number, err)
		}
		faults = append(faults, f)
	}
	return faults, nil
}

// Script is the inverse of [Parse]. It leaves out the message of a Status, and faults without
// an action.
func Script(faults []Fault) string {
	var b strings.Builder
	for _, f := range faults {
		if line := f.line(); line != "" {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func parseFault(words []string) (f Fault, err error) {
	if len(words) < 3 {
		return f, fmt.Errorf("%q: want an action, a verb and a resource", strings.Join(words, " "))
	}
	if words[1] != "*" {
		f.Verb = Verb(words[1])
	}
	if words[2] != "*" {
		f.Resource = schema.ParseGroupResource(words[2])
	}
	args := arguments.Of(words[3:])
	f.act(words[0], args)
	f.Skip = args.Number("call", 1, 1, math.MaxInt) - 1
	if args.Is("times", "all") {
		f.Times = -1
	} else {
		f.Times = args.Number("times", 0, 1, math.MaxInt)
	}
	f.Chance = chance(args)
	f.Seed = seed(args)
	// The rules for every fault come last.
	if err := args.Done(); err != nil {
		return f, err
	}
	return f, f.check()
}

// chance reads a probability.
func chance(args *arguments.Set) float64 {
	text, ok := args.Take("chance")
	if !ok {
		return 0
	}
	p, err := strconv.ParseFloat(text, 64)
	if err != nil || !(p > 0 && p < 1) {
		args.Fail("chance=%s: want a number between 0 and 1", text)
	}
	return p
}

// seed reads the seed of one.
func seed(args *arguments.Set) uint64 {
	text, ok := args.Take("seed")
	if !ok {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		args.Fail("seed=%s: want a number", text)
	}
	return n
}

// counted lists the actions whose only argument is a number above zero.
var counted = []struct {
	action, argument string
	field            func(*Fault) *int
}{
	{"drop", "after", func(f *Fault) *int { return &f.CutEvents }},
	{"truncate", "bytes", func(f *Fault) *int { return &f.CutBytes }},
	{"duplicate", "event", func(f *Fault) *int { return &f.Duplicate }},
	{"reorder", "event", func(f *Fault) *int { return &f.Reorder }},
	{"jump", "by", func(f *Fault) *int { return &f.JumpRV }},
}

// act sets the action of a line, with its arguments.
func (f *Fault) act(name string, args *arguments.Set) {
	switch name {
	case "refuse":
		code := args.Number("code", -1, 400, math.MaxInt32)
		reason, ok := args.Take("reason")
		if !ok {
			reason = string(usualReason(code))
		}
		f.Status = Refusal(code, metav1.StatusReason(reason), args.Number("retry-after", 0, 0, math.MaxInt32))
	case "silence":
		f.Silent, f.After = true, args.Number("after", 0, 0, math.MaxInt)
	case "delay":
		f.Delay, f.After = args.Duration("by"), args.Number("after", 0, 0, math.MaxInt)
	case "expire":
		f.Expire = true
	case "restart":
		switch how, _ := args.Take("history"); how {
		case "keep", "":
			f.Restart = RestartKeep
		case "lose":
			f.Restart = RestartLose
		default:
			args.Fail("history=%s: want keep or lose", how)
		}
	default:
		for _, c := range counted {
			if c.action == name {
				*c.field(f) = args.Number(c.argument, -1, 1, math.MaxInt)
				return
			}
		}
		args.Fail("unknown action %q", name)
	}
}

// usualReason is the reason that the API server sends with a code.
func usualReason(code int) metav1.StatusReason {
	switch code {
	case http.StatusUnauthorized:
		return metav1.StatusReasonUnauthorized
	case http.StatusForbidden:
		return metav1.StatusReasonForbidden
	case http.StatusNotFound:
		return metav1.StatusReasonNotFound
	case http.StatusConflict:
		return metav1.StatusReasonConflict
	case http.StatusGone:
		return metav1.StatusReasonExpired
	case http.StatusTooManyRequests:
		return metav1.StatusReasonTooManyRequests
	case http.StatusInternalServerError:
		return metav1.StatusReasonInternalError
	case http.StatusServiceUnavailable:
		return metav1.StatusReasonServiceUnavailable
	case http.StatusGatewayTimeout:
		return metav1.StatusReasonTimeout
	}
	return metav1.StatusReasonUnknown
}

// line returns the fault as one line of a script, or "" if it has no action.
func (f Fault) line() string {
	action, args := f.words()
	if action == "" {
		return ""
	}
	verb, resource := string(f.Verb), f.Resource.String()
	if verb == "" {
		verb = "*"
	}
	if f.Resource.Empty() {
		resource = "*"
	}
	words := append([]string{action, verb, resource}, args...)
	if f.Skip > 0 {
		words = append(words, fmt.Sprintf("call=%d", f.Skip+1))
	}
	switch {
	case f.Times < 0:
		words = append(words, "times=all")
	case f.Times > 0:
		words = append(words, fmt.Sprintf("times=%d", f.Times))
	}
	if f.Chance > 0 {
		words = append(words, "chance="+strconv.FormatFloat(f.Chance, 'g', -1, 64))
	}
	if f.Seed > 0 {
		words = append(words, fmt.Sprintf("seed=%d", f.Seed))
	}
	return strings.Join(words, " ")
}

// words returns the name of the action and its arguments.
func (f Fault) words() (string, []string) {
	after := func(args ...string) []string {
		if f.After > 0 {
			args = append(args, fmt.Sprintf("after=%d", f.After))
		}
		return args
	}
	switch {
	case f.Status != nil:
		return "refuse", f.refusal()
	case f.Silent:
		return "silence", after()
	case f.Delay > 0:
		return "delay", after("by=" + f.Delay.String())
	case f.Expire:
		return "expire", nil
	case f.Restart == RestartLose:
		return "restart", []string{"history=lose"}
	case f.Restart == RestartKeep:
		return "restart", []string{"history=keep"}
	}
	for _, c := range counted {
		if n := *c.field(&f); n > 0 {
			return c.action, []string{fmt.Sprintf("%s=%d", c.argument, n)}
		}
	}
	return "", nil
}

func (f Fault) refusal() []string {
	st := f.Status.ErrStatus
	args := []string{fmt.Sprintf("code=%d", st.Code)}
	if st.Reason != usualReason(int(st.Code)) {
		args = append(args, "reason="+string(st.Reason))
	}
	if d := st.Details; d != nil && d.RetryAfterSeconds > 0 {
		args = append(args, fmt.Sprintf("retry-after=%d", d.RetryAfterSeconds))
	}
	return args
}
