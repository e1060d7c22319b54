package debug

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/usercode"
	"github.com/kinform/kinform/internal/verdict"
	"github.com/kinform/kinform/queue"
)

// serverTime bounds a question to the server.
const serverTime = 5 * time.Second

// Story is all that the page knows about one key.
type Story struct {
	Key         string      `json:"key"`
	Informers   []CachedKey `json:"informers"`
	Queues      []QueuedKey `json:"queues"`
	Controllers []QueuedKey `json:"controllers"`
	// Unknown names the informers that know nothing of the key and, if another queue or controller knows it, the queues
	// and controllers that do not. They are left out above.
	Unknown []string `json:"unknown"`
}

// CachedKey is a key in an informer.
type CachedKey struct {
	Name   string `json:"name"`
	Cached bool   `json:"cached"`
	// Busy says that the informer did not answer within a second. Then nothing else is known.
	Busy bool `json:"busy,omitempty"`
	// Version is the version of the object in the store. It is empty for objects without one.
	Version string `json:"version"`
	// PendingWrite is the version of this process's own write that the watch has not brought.
	PendingWrite string `json:"pendingWrite,omitempty"`
	// Server is the server's present state: a version, or an error. Empty if it was not asked.
	Server string `json:"server,omitempty"`
	// Events are the newest recorded events of the key, the newest first, 20 at most.
	Events []SeenEvent `json:"events"`
	// Object is the cached object, with Options.Objects.
	Object any `json:"object,omitempty"`
}

// SeenEvent is an event.
type SeenEvent struct {
	// Type is "Added", "Updated" or "Deleted", with "(initial)", "(replaced)" or "(written by this process)". The last
	// one does not queue the key whose reconcile wrote it, see controller.Options.OwnEvents.
	Type    string `json:"type"`
	Version string `json:"version"`
	// Age is how many seconds ago the store got it.
	Age float64 `json:"age"`
	// Handlers are those that were there, sorted by name.
	Handlers []SeenBy `json:"handlers"`
}

// SeenBy is a handler's view of an event.
type SeenBy struct {
	Name string `json:"name"`
	// After is how many seconds after the store the handler got it, or its filter refused it. It is
	// nil if that has not happened.
	After *float64 `json:"after,omitempty"`
	// Missed says that the handler will not get it, since the handler coalesces and was behind.
	Missed bool `json:"missed,omitempty"`
}

// QueuedKey is a key in a queue.
type QueuedKey struct {
	Name string `json:"name"`
	// State is "running", "held", "queued", "delayed", "absent" or "shut down".
	State string `json:"state"`
	// Why says in words why the key is not running now, or that it is running.
	Why      string `json:"why"`
	Failures int    `json:"failures"`
	// LastError is that of a key that fails or was given up, see [Queue.FailingKeys].
	LastError *PastError `json:"lastError,omitempty"`
	// Loop says what goes on if the key was found in a loop in the last hour.
	Loop string `json:"loop,omitempty"`
	// Causes say why the key runs (with Options.Reconciles), or else why it waits, the newest first.
	Causes []string `json:"causes,omitempty"`
	// Reconciles are the newest recorded ones of the key, the newest first, 20 results at most.
	Reconciles []Reconcile `json:"reconciles"`
}

// Reconcile is one that has ended, or several in a row with the same result, error and causes. Causes are the same if
// they differ in versions, changed fields and number only.
type Reconcile struct {
	// Age is how many seconds ago it began, Took how many seconds it took: the newest of Count. The oldest began First
	// seconds ago.
	Age   float64 `json:"age"`
	Took  float64 `json:"took"`
	Count int     `json:"count"`
	First float64 `json:"first"`
	// Result is "succeeded", "again", "gave up", "cut short", "failed" or "panicked".
	Result string `json:"result"`
	Error  string `json:"error,omitempty"`
	// Causes say why the newest of Count ran, the newest first: see controller.CausesOf.
	Causes []string `json:"causes"`
}

func (p *Page) story(ctx context.Context, key string, askServer bool) Story {
	now := time.Now()
	all := p.views()
	s := Story{Key: key, Informers: []CachedKey{}, Queues: []QueuedKey{}, Controllers: []QueuedKey{}, Unknown: []string{}}
	s.addInformers(ctx, all.informers, askServer, now)
	for _, v := range all.queues {
		s.Queues = append(s.Queues, v.story(key, now, p.unfilled))
	}
	for _, v := range all.controllers {
		s.Controllers = append(s.Controllers, v.story(key, now, p.unfilled))
	}
	if slices.ContainsFunc(s.Queues, QueuedKey.knows) || slices.ContainsFunc(s.Controllers, QueuedKey.knows) {
		s.Queues, s.Controllers = s.without(s.Queues), s.without(s.Controllers)
	}
	return s
}

// addInformers adds what the informers know of the key.
func (s *Story) addInformers(ctx context.Context, all []*informed, askServer bool, now time.Time) {
	looks := lookUp(all, s.Key, now)
	var asking sync.WaitGroup
	for n, v := range all {
		if one := &looks[n]; askServer && !one.found.Busy {
			asking.Go(func() {
				answer, known := v.answer(ctx, s.Key)
				one.found.Server, one.knows = answer, one.knows || known
			})
		}
	}
	asking.Wait()
	for _, one := range looks {
		if one.knows {
			s.Informers = append(s.Informers, one.found)
		} else {
			s.Unknown = append(s.Unknown, one.found.Name)
		}
	}
}

// without leaves out, and names, the queues that do not know the key.
func (s *Story) without(all []QueuedKey) []QueuedKey {
	return slices.DeleteFunc(all, func(k QueuedKey) bool {
		if !k.knows() {
			s.Unknown = append(s.Unknown, k.Name)
		}
		return !k.knows()
	})
}

func (k QueuedKey) knows() bool {
	return k.State != "absent" && k.State != "shut down" || len(k.Reconciles) > 0 || k.Loop != "" || k.LastError != nil
}

// look is what an informer knows of a key. knows is false if that is nothing.
type look struct {
	found CachedKey
	knows bool
}

// lookUp looks a key up in informers, in all of them at once, since any may be busy.
func lookUp(all []*informed, key string, now time.Time) []look {
	late, cancel := context.WithTimeout(context.Background(), busyAfter)
	defer cancel()
	var coming []<-chan look
	for _, v := range all {
		coming = append(coming, v.look(late, key, now))
	}
	looks := make([]look, len(all))
	for n, v := range all {
		select {
		case looks[n] = <-coming[n]:
			continue
		case <-late.Done():
		}
		select {
		case looks[n] = <-coming[n]:
		default:
			looks[n] = look{CachedKey{Name: v.name, Busy: true, Events: []SeenEvent{}}, true}
		}
	}
	return looks
}

// look looks a key up, for as long as ctx lasts. Its goroutine outlives that if the function of an index never returns, and
// then the ones after it do not get so far.
func (v *informed) look(ctx context.Context, key string, now time.Time) <-chan look {
	done := make(chan look, 1)
	go func() {
		select {
		case v.looking <- struct{}{}:
			done <- v.story(key, now)
			<-v.looking
		case <-ctx.Done():
		}
	}()
	return done
}

func (v *informed) story(key string, now time.Time) look {
	found := v.inf.Lookup(key)
	out := CachedKey{Name: v.name, Cached: found.Cached, Version: found.Version, PendingWrite: found.PendingWrite, Events: []SeenEvent{}}
	if v.traces {
		out.Events = v.events(key, now)
	}
	if found.Cached && v.objects {
		out.Object = shownObject(v.inf.Resource(), found.Object)
	}
	return look{out, out.Cached || out.PendingWrite != "" || len(out.Events) > 0}
}

// answer returns what the server has under key, in words. known is false if nobody can be asked, or the server has
// nothing.
func (v *informed) answer(ctx context.Context, key string) (answer string, known bool) {
	if v.ask == nil {
		return "there is no function to ask", false
	}
	defer func() {
		if p := recover(); p != nil {
			answer, known = printable(fmt.Sprintf("the function to ask panicked: %v", p)), true
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, serverTime)
	defer cancel()
	version, err := v.ask(ctx, key)
	if err != nil {
		return errorText(err), !apierrors.IsNotFound(err)
	}
	return "version " + printable(version), true
}

func (v *informed) events(key string, now time.Time) []SeenEvent {
	out := []SeenEvent{}
	for _, e := range first(v.inf.Traced(key)) {
		ev := SeenEvent{Type: e.Type, Version: e.Version, Age: now.Sub(e.Committed).Seconds(), Handlers: []SeenBy{}}
		if e.Initial {
			ev.Type += " (initial)"
		} else if e.Replaced {
			ev.Type += " (replaced)"
		} else if e.Own {
			ev.Type += " (written by this process)"
		}
		for _, turn := range e.Turns {
			by := SeenBy{Name: printable(turn.Handler), Missed: turn.Missed}
			if !turn.Began.IsZero() {
				by.After = ptr(max(0, turn.Began.Sub(e.Committed).Seconds()))
			}
			ev.Handlers = append(ev.Handlers, by)
		}
		out = append(out, ev)
	}
	return out
}

func (v *queued) story(text string, now time.Time, unfilled func() map[informer.Untyped]string) QueuedKey {
	out := v.position(text, now)
	out.Name, out.Reconciles = v.name, []Reconcile{}
	if v.calls != nil {
		v.addCalls(&out, text, now)
	}
	if (out.State == "queued" || out.State == "delayed" || v.calls != nil && out.State == "absent") && v.idles(v.queue.Metrics()) {
		out.Why += " No worker runs: " + v.noWorkers(unfilled()) + "."
	}
	return out
}

// addCalls adds what the controller did with a key.
func (v *queued) addCalls(out *QueuedKey, text string, now time.Time) {
	out.Reconciles = reconciles(v.calls.Traced(text), now)
	for _, l := range v.calls.Loops() {
		if printable(l.Key) == text {
			out.Loop = l.Text
		}
	}
	givenUp := v.addLastError(out, text, now)
	switch last := out.Reconciles; {
	case out.State != "absent":
	case len(last) > 0:
		out.Why = strings.TrimSuffix(fmt.Sprintf("It is not in the queue. Result of the last reconcile: %s: %s", last[0].Result, last[0].Error), ": ")
	case givenUp:
		out.Why = "It was given up, and comes back when something adds it."
	case v.kept > 0:
		out.Why = fmt.Sprintf("It is not in the queue, and no reconcile of it is recorded: only the newest %d are, of all keys.", v.kept)
	default:
		out.Why = "It is not in the queue. Reconciles are not recorded."
	}
}

// addLastError adds the last error of a key that fails or was given up, and reports whether it was.
func (v *queued) addLastError(out *QueuedKey, text string, now time.Time) (givenUp bool) {
	is := matches(text)
	for key, last := range v.calls.LastErrors() {
		if is(key) {
			out.LastError = &PastError{Age: now.Sub(last.Began).Seconds(), Error: errorText(last.Err)}
			return last.Result == verdict.GaveUp.String()
		}
	}
	return false
}

// reconciles returns reconciles with equal results and causes in a row as one.
func reconciles(all []controller.Traced, now time.Time) []Reconcile {
	out := []Reconcile{}
	var last []string // what the causes of the last one are
	for _, c := range all {
		age, text, why := now.Sub(c.Began).Seconds(), resultText(c.Err), sorts(c.Causes)
		if n := len(out) - 1; n >= 0 && out[n].Result == c.Result && out[n].Error == text && slices.Equal(last, why) {
			out[n].Count++
			out[n].First = age
			continue
		}
		if len(out) == shown {
			break
		}
		last = why
		out = append(out, Reconcile{Age: age, Took: c.Took.Seconds(), Count: 1, First: age, Result: c.Result, Error: text, Causes: causeTexts(c.Causes)})
	}
	return out
}

// sorts returns what causes are: without versions, and equal ones in a row once.
func sorts(causes controller.Causes) (all []string) {
	for _, c := range causes.Newest {
		c.Old, c.Version = "", ""
		all = append(all, c.String())
	}
	return slices.Compact(all)
}

// resultText returns the text of the error of a result, without that of a queue.Again, which the result says.
func resultText(err error) string {
	if err == nil {
		return ""
	}
	v := verdict.Of(context.Background(), err, usercode.Call)
	switch {
	case v.Outcome != verdict.AskedAgain:
		return errorText(err)
	case v.Err == nil:
		return ""
	}
	lines := strings.Split(fmt.Sprint(err), "\n") // of errors.Join
	return shortText(strings.Join(slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, again) }), "\n"))
}

// again begins the text of a queue.Again.
var again = (*verdict.AgainError)(nil).Error()

// position says where in the queue the key with the given text is.
func (v *queued) position(text string, now time.Time) QueuedKey {
	s, is := v.queue.SnapshotAny(), matches(text)
	for _, k := range s.Running {
		if !is(k.Key) {
			continue
		}
		call := v.running(k.Key)
		if v.kept > 0 && call.Began.IsZero() {
			return QueuedKey{State: "held", Failures: k.Failures, Why: "A worker has it, and reconcile has not begun: it waits until the caches have the controller's own writes."}
		}
		why := "A worker has been reconciling it"
		if d := runsFor(k, call, now); d > 0 {
			why += " for " + spoken(d)
		}
		if k.Again {
			why += ", and comes back after that, since it was added meanwhile"
		}
		return QueuedKey{State: "running", Failures: k.Failures, Why: why + ".", Causes: causeTexts(call.Causes)}
	}
	for i, k := range s.Queued {
		if is(k.Key) {
			why := fmt.Sprintf("Keys queued before it: %d. Keys running: %d.", i, len(s.Running)) + v.longest(s.Running, now)
			return QueuedKey{State: "queued", Failures: k.Failures, Why: why, Causes: v.waiting(k.Key)}
		}
	}
	for _, k := range s.Delayed {
		if is(k.Key) {
			return QueuedKey{State: "delayed", Failures: k.Failures, Why: delayedWhy(k.In, k.Debounced, k.Failures), Causes: v.waiting(k.Key)}
		}
	}
	if v.queue.ShuttingDown() {
		return QueuedKey{State: "shut down", Why: "The queue is shut down and takes no keys."}
	}
	return QueuedKey{State: "absent", Why: "It is not in the queue."}
}

// waiting returns why a key waits.
func (v *queued) waiting(key any) []string { return causeTexts(v.waits(key)) }

// causeTexts returns causes in words, with the fields that changed.
func causeTexts(causes controller.Causes) []string {
	all := make([]string, 0, len(causes.Newest)+1)
	for _, c := range causes.Newest {
		text := printable(c.String())
		if changed := c.Changed(); len(changed) > 0 {
			text += ": " + strings.Join(changed, ", ")
		}
		all = append(all, text)
	}
	if more := causes.Adds - len(causes.Newest); more > 0 {
		all = append(all, fmt.Sprintf("and %d before", more))
	}
	return all
}

// reason returns the reason of causes in words, and without the fields that changed.
func reason(causes controller.Causes) string {
	if len(causes.Newest) == 0 {
		return ""
	}
	return printable(causes.Reason().String())
}

// longest names the key that has been running for longest, as a sentence that follows another one, if that is for long.
func (v *queued) longest(running []queue.KeyStatus[any], now time.Time) string {
	var key any
	most := 10 * time.Second
	for _, k := range running {
		if d := runsFor(k, v.running(k.Key), now); d >= most {
			key, most = k.Key, d
		}
	}
	if key == nil {
		return ""
	}
	return fmt.Sprintf(" Of these, %s has been running for longest: %s.", keyText(key), spoken(most))
}

func delayedWhy(in time.Duration, debounced bool, failures int) string {
	why := "It is delayed"
	if debounced {
		why = "It is held until its changes pause"
	}
	why += " for another " + spoken(max(in, 0))
	if failures > 0 {
		why += fmt.Sprintf(", after %d failures", failures)
	}
	return why + "."
}

// spoken returns a duration, in days if it has two or more, and without fractions if it is a minute or more.
func spoken(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= 2*day {
		return fmt.Sprintf("%.1f days", d.Hours()/day.Hours())
	}
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return d.Round(time.Millisecond).String()
}

// shownObject returns obj as JSON values, without the parts that are never shown.
func shownObject(resource string, obj any) any {
	text, err := marshal(obj)
	if err != nil {
		return "not shown: " + errorText(err)
	}
	var fields map[string]any
	if json.Unmarshal(text, &fields) != nil {
		return "not shown: it is no JSON object"
	}
	if isSecret(resource, obj, fields) {
		for name := range fields {
			if name != "apiVersion" && name != "kind" && name != "metadata" && name != "type" {
				delete(fields, name)
			}
		}
	}
	if meta, ok := fields["metadata"].(map[string]any); ok {
		delete(meta, "managedFields")
		if notes, ok := meta["annotations"].(map[string]any); ok {
			delete(notes, "kubectl.kubernetes.io/last-applied-configuration")
		}
	}
	return fields
}

// marshal is json.Marshal for objects of the user, whose methods may panic.
func marshal(obj any) (text []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return json.Marshal(obj)
}

// isSecret reports whether obj may be a Secret, or a part of one.
func isSecret(resource string, obj any, fields map[string]any) bool {
	return strings.HasPrefix(resource, "secrets") || fields["kind"] == "Secret" || strings.HasSuffix(fmt.Sprintf("%T", obj), ".Secret")
}
