package debug

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kinform/kinform/internal/objmeta"
)

// serverTime bounds a question to the server.
const serverTime = 5 * time.Second

// Story is all that the page knows about one key.
type Story struct {
	Key         string      `json:"key"`
	Informers   []CachedKey `json:"informers"`
	Queues      []QueuedKey `json:"queues"`
	Controllers []QueuedKey `json:"controllers"`
}

// CachedKey is a key in an informer.
type CachedKey struct {
	Name   string `json:"name"`
	Cached bool   `json:"cached"`
	// Version is that of the object in the store. It is empty for objects without one.
	Version string `json:"version"`
	// PendingWrite is the version of this process's own write that the watch has not brought.
	PendingWrite string `json:"pendingWrite,omitempty"`
	// Server is what the server has now: a version, or an error. Empty if it was not asked.
	Server string `json:"server,omitempty"`
	// Events are the newest recorded events of the key, the newest first, 20 at most.
	Events []SeenEvent `json:"events"`
	// Object is the cached object, with Options.Objects.
	Object any `json:"object,omitempty"`
}

// SeenEvent is an event.
type SeenEvent struct {
	Type    string `json:"type"`
	Version string `json:"version"`
	// Age is how many seconds ago the page's own handler saw it.
	Age float64 `json:"age"`
	// Behind names the handlers whose lag says that they have not finished the event. The time at
	// which the others did is not known.
	Behind []string `json:"behind"`
}

// QueuedKey is a key in a queue.
type QueuedKey struct {
	Name string `json:"name"`
	// State is "running", "held", "queued", "delayed", "absent" or "shut down".
	State string `json:"state"`
	// Why says in words why the key is not running now, or that it is.
	Why      string `json:"why"`
	Failures int    `json:"failures"`
	// Reconciles are the newest recorded ones of the key, the newest first, 20 at most.
	Reconciles []Reconcile `json:"reconciles"`
}

// Reconcile is one that has ended.
type Reconcile struct {
	// Age is how many seconds ago it began, Took how many seconds it took.
	Age  float64 `json:"age"`
	Took float64 `json:"took"`
	// Result is "panicked", or the text of a queue.Outcome, such as "gave up".
	Result string `json:"result"`
	Error  string `json:"error,omitempty"`
}

func (p *Page) story(ctx context.Context, key string, askServer bool) Story {
	now := time.Now()
	informers, queues, controllers := p.views()
	s := Story{Key: key, Informers: []CachedKey{}, Queues: []QueuedKey{}, Controllers: []QueuedKey{}}
	for _, v := range informers {
		s.Informers = append(s.Informers, v.story(ctx, key, askServer, now))
	}
	for _, v := range queues {
		s.Queues = append(s.Queues, v.story(key, now))
	}
	for _, v := range controllers {
		s.Controllers = append(s.Controllers, v.story(key, now))
	}
	return s
}

func (v *informed[K, T]) story(ctx context.Context, text string, askServer bool, now time.Time) CachedKey {
	out := CachedKey{Name: v.name, Events: v.events(text, now)}
	key, ok := v.find(text)
	if !ok {
		return out
	}
	var obj T
	if obj, out.Cached = v.inf.Store().Get(key); out.Cached {
		out.Version = objmeta.VersionOf(obj)
		if v.objects {
			out.Object = shownObject(v.inf.Resource(), obj)
		}
	}
	out.PendingWrite, _ = v.inf.PendingWrite(key)
	if askServer {
		out.Server = v.ask(ctx, key)
	}
	return out
}

// find returns the key with the given text. It looks at all keys if K is not a type whose keys
// can be made of text.
func (v *informed[K, T]) find(text string) (K, bool) {
	if key, ok := parseKey[K](text); ok {
		return key, true
	}
	for key := range v.inf.Store().Keys() {
		if keyText(key) == text {
			return key, true
		}
	}
	return *new(K), false
}

// ask returns what the server has under key, in words.
func (v *informed[K, T]) ask(ctx context.Context, key K) (answer string) {
	if v.server == nil {
		return "there is no function to ask"
	}
	defer func() {
		if p := recover(); p != nil {
			answer = printable(fmt.Sprintf("the function to ask panicked: %v", p))
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, serverTime)
	defer cancel()
	obj, err := v.server(ctx, key)
	if err != nil {
		return errorText(err)
	}
	return "version " + printable(objmeta.VersionOf(obj))
}

func (v *informed[K, T]) events(text string, now time.Time) []SeenEvent {
	out := []SeenEvent{}
	if v.recent == nil {
		return out
	}
	handlers, own := v.inf.Handlers(), uint64(0)
	for _, h := range handlers {
		if h.Name == handlerName {
			own = h.Lag
		}
	}
	recent, _ := v.recent.newest()
	for i, e := range recent {
		if len(out) == shown || keyText(e.key) != text {
			continue
		}
		ev := SeenEvent{Type: e.kind, Version: e.version, Age: now.Sub(e.at).Seconds(), Behind: []string{}}
		for _, h := range handlers {
			if h.Lag > own+uint64(i) && h.Name != handlerName {
				ev.Behind = append(ev.Behind, printable(h.Name))
			}
		}
		out = append(out, ev)
	}
	return out
}

func (v *queued[K]) story(text string, now time.Time) QueuedKey {
	out := v.position(text, now)
	out.Name, out.Reconciles = v.name, []Reconcile{}
	if v.calls == nil {
		return out
	}
	recent, _ := v.calls.recent.newest()
	for _, c := range recent {
		if len(out.Reconciles) == shown || keyText(c.key) != text {
			continue
		}
		r := Reconcile{Age: now.Sub(c.began).Seconds(), Took: c.took.Seconds(), Result: c.result}
		if c.err != nil {
			r.Error = errorText(c.err)
		}
		out.Reconciles = append(out.Reconciles, r)
	}
	if out.State == "absent" && len(out.Reconciles) > 0 {
		last := out.Reconciles[0]
		out.Why = strings.TrimSuffix(fmt.Sprintf("It is not in the queue. Result of the last reconcile: %s: %s", last.Result, last.Error), ": ")
	}
	return out
}

// position says where in the queue the key with the given text is.
func (v *queued[K]) position(text string, now time.Time) QueuedKey {
	s := v.queue.Snapshot()
	for _, k := range s.Running {
		if keyText(k.Key) != text {
			continue
		}
		if v.calls != nil {
			if _, runs := v.calls.began(k.Key); !runs {
				return QueuedKey{State: "held", Failures: k.Failures, Why: "A worker has it, and reconcile has not begun: it waits until the caches have the controller's own writes."}
			}
		}
		why := "A worker has been reconciling it"
		if d := v.runsFor(k, now); d > 0 {
			why += " for " + d.Round(time.Millisecond).String()
		}
		if k.Again {
			why += ", and comes back after that, since it was added meanwhile"
		}
		return QueuedKey{State: "running", Failures: k.Failures, Why: why + "."}
	}
	for i, k := range s.Queued {
		if keyText(k.Key) == text {
			return QueuedKey{State: "queued", Failures: k.Failures, Why: fmt.Sprintf("Keys queued before it: %d. Keys running: %d.", i, len(s.Running))}
		}
	}
	for _, k := range s.Delayed {
		if keyText(k.Key) == text {
			return QueuedKey{State: "delayed", Failures: k.Failures, Why: delayedWhy(k.In, k.Debounced, k.Failures)}
		}
	}
	if v.queue.ShuttingDown() {
		return QueuedKey{State: "shut down", Why: "The queue is shut down and takes no keys."}
	}
	return QueuedKey{State: "absent", Why: "It is not in the queue, and no reconcile of it is recorded."}
}

func delayedWhy(in time.Duration, debounced bool, failures int) string {
	why := "It is delayed"
	if debounced {
		why = "It is held until its changes pause"
	}
	why += " for another " + max(in, 0).Round(time.Millisecond).String()
	if failures > 0 {
		why += fmt.Sprintf(", after %d failures", failures)
	}
	return why + "."
}

// shownObject returns obj as JSON values without what is never shown.
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
