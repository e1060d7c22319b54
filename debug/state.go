package debug

import (
	"context"
	"encoding/json"
	"time"

	"github.com/kinform/kinform/informer"
)

// State is the content of the page. Times are ages in seconds at the moment of Time. Lists of keys
// have the first 20 at most; the numbers beside them count all.
//
// Functions called state fill it (informer.go, queue.go). assets/page.js and kinform-top/render.go
// show it.
type State struct {
	Time time.Time `json:"time"`
	// Memory is the memory of the process.
	Memory      Memory     `json:"memory"`
	Informers   []Informer `json:"informers"`
	Queues      []Queue    `json:"queues"`
	Controllers []Queue    `json:"controllers"`
	// Replicas are the replicas of package shard in this process.
	Replicas []ReplicaState `json:"replicas"`
}

// Memory is the memory of the process, in bytes.
type Memory struct {
	// Live is what the last garbage collection left of the heap, zero before the first. Heap is the heap's objects now,
	// garbage included. Total is all that the Go runtime has from the system.
	Live  uint64 `json:"live"`
	Heap  uint64 `json:"heap"`
	Total uint64 `json:"total"`
}

// Informer is the state of an informer.
type Informer struct {
	unfilled string // why its cache is not filled, empty if it is

	Name     string `json:"name"`
	Resource string `json:"resource"`
	// State is "never started", "first list", "watching", "failing", "stopped", "lists every 30s" if watches bring
	// nothing (reflector.Polling), or "busy" if it does not answer within a second, as while the function of an index
	// does not return. Then the rest is as it was before.
	State   string `json:"state"`
	Version string `json:"version"`
	Objects int    `json:"objects"`
	// Bytes is an estimate of the memory of the objects: see informer.Informer.Bytes. It counts a part that objects
	// share for each of them.
	Bytes uint64 `json:"bytes"`
	// Marks are those of "metadata only" and "projection" that hold for its objects. An informer that was added without
	// its handle has the first only.
	Marks []string `json:"marks,omitempty"`
	// Pending is the number of changes that wait to enter the store.
	Pending int `json:"pending"`
	// LastEvent is the age of the watch's last event, nil before the first.
	LastEvent *float64 `json:"lastEvent,omitempty"`
	Lists     uint64   `json:"lists"`
	Watches   uint64   `json:"watches"`
	Events    uint64   `json:"events"`
	// EventRate is the recent number of events per second; nil until somebody has been looking at
	// the page for a second.
	EventRate *float64 `json:"eventRate,omitempty"`
	Failures  uint64   `json:"failures"`
	// BadObjects is the number of objects that were skipped.
	BadObjects uint64 `json:"badObjects"`
	// Listed and Expected are the progress of the list, see reflector.Stats.
	Listed   uint64 `json:"listed"`
	Expected uint64 `json:"expected"`
	// Quiet is for how many seconds nothing has come of the list in progress, nil before that takes 10 seconds.
	Quiet *float64 `json:"quiet,omitempty"`
	// Relists counts the lists that replaced a watch, by reason; reasons that never occurred
	// are left out.
	Relists map[string]uint64 `json:"relists"`
	// LastRelists are the newest of these, the newest first, 8 at most.
	LastRelists []Relist `json:"lastRelists"`
	Failing     *Failing `json:"failing,omitempty"`
	// LastError is the newest failure of a list or a watch, which may be over; nil if there was none.
	LastError     *PastError `json:"lastError,omitempty"`
	PendingWrites int        `json:"pendingWrites"`
	LostWrites    uint64     `json:"lostWrites"`
	Indexes       []Index    `json:"indexes"`
	Handlers      []Handler  `json:"handlers"`
}

// PastError is an error that has occurred.
type PastError struct {
	// Age is how many seconds ago it occurred.
	Age   float64 `json:"age"`
	Error string  `json:"error"`
}

// Index is the state of an index: see index.Stats.
type Index struct {
	Name    string `json:"name"`
	Values  int    `json:"values"`
	Entries int    `json:"entries"`
	// Largest is the largest number of objects under one of the values that were looked at.
	Largest int `json:"largest"`
}

// Relist is a list that replaced a watch.
type Relist struct {
	// Age is how many seconds ago it was decided on.
	Age    float64 `json:"age"`
	Reason string  `json:"reason"`
}

// Failing is a failure that continues.
type Failing struct {
	Since float64 `json:"since"`
	Error string  `json:"error"`
	// Next is the time in seconds until the next request, nil if there is none.
	Next *float64 `json:"next,omitempty"`
}

// Handler is the state of a handler.
type Handler struct {
	Name     string `json:"name"`
	Lag      uint64 `json:"lag"`
	Overruns uint64 `json:"overruns"`
	Synced   bool   `json:"synced"`
	// Stuck is for how many seconds the handler has not returned from a call, nil before that takes 10 seconds.
	Stuck *float64 `json:"stuck,omitempty"`
}

// Queue is the state of a queue, and of the controller that works on it.
type Queue struct {
	Name         string `json:"name"`
	ShuttingDown bool   `json:"shuttingDown"`
	Queued       int    `json:"queued"`
	Delayed      int    `json:"delayed"`
	Running      int    `json:"running"`
	Idle         int    `json:"idle"` // workers that wait for a key
	// Workers is the largest number of keys that run at a time, 0 while nothing works on the queue.
	Workers int `json:"workers"`
	// NoWorkers says why nothing works on the queue, such as "this process does not lead; web-1 does" between two terms
	// of a manager. It is empty if something does, and if the queue is shut down. For a queue alone it says only that.
	NoWorkers   string `json:"noWorkers,omitempty"`
	Adds        uint64 `json:"adds"`
	Retries     uint64 `json:"retries"`
	Panics      uint64 `json:"panics"`
	QueuedKeys  []Key  `json:"queuedKeys"`
	DelayedKeys []Key  `json:"delayedKeys"`
	RunningKeys []Key  `json:"runningKeys"`
	// Failing and GivenUp are the numbers of keys that fail and are tried again, and of those that are not. Without
	// Options.Reconciles, only the former are known; with it, 1,000 keys at most have their errors.
	Failing     int   `json:"failing"`
	GivenUp     int   `json:"givenUp"`
	FailingKeys []Key `json:"failingKeys"`
	GivenUpKeys []Key `json:"givenUpKeys"`
	// Looping is the number of keys that a controller found in a loop in the last hour: see controller.Controller.Loops.
	Looping     int   `json:"looping,omitempty"`
	LoopingKeys []Key `json:"loopingKeys,omitempty"`
	// AddRate, RunRate and FailRate are the recent numbers of adds, of results and of failed
	// results per second; nil until somebody has been looking at the page for a second.
	AddRate  *float64 `json:"addRate,omitempty"`
	RunRate  *float64 `json:"runRate,omitempty"`
	FailRate *float64 `json:"failRate,omitempty"`
	// MeanWait and MeanWork are the mean numbers of seconds for which keys were queued and handed
	// out, since the queue began. They need queue.Options.Timing, and are nil before the first key.
	MeanWait *float64 `json:"meanWait,omitempty"`
	MeanWork *float64 `json:"meanWork,omitempty"`
	// Counts is nil if nothing has worked on the queue.
	Counts *Counts `json:"counts,omitempty"`
}

// Counts are the results of the function that works on a queue: see queue.Results.
type Counts struct {
	Succeeded uint64 `json:"succeeded"`
	// Again counts those that asked for their key again, with or without a delay.
	Again    uint64 `json:"again"`
	GaveUp   uint64 `json:"gaveUp"`
	CutShort uint64 `json:"cutShort"`
	// Failed includes Panicked.
	Failed   uint64 `json:"failed"`
	Panicked uint64 `json:"panicked"`
	TimedOut uint64 `json:"timedOut"`
}

// Key is a key in a queue.
type Key struct {
	Key string `json:"key"`
	// Seconds is how long a queued key has waited, a delayed one has to wait, or a running one
	// has run, or how long ago the last reconcile of a failing one or one that was given up began, or a loop was found.
	// Zero if it is not known.
	Seconds  float64 `json:"seconds"`
	Priority int     `json:"priority"`
	Failures int     `json:"failures"`
	// Error is the last reconcile's, for a key that fails or was given up, and needs Options.Reconciles. For a key in a
	// loop it says what goes on.
	Error string `json:"error,omitempty"`
	// Cause is the cause for which a controller's key waits or runs, or of the last reconcile of one that fails or
	// was given up: see controller.CausesOf. Only the cause of a waiting key is known without Options.Reconciles.
	Cause string `json:"cause,omitempty"`
}

// snapshot returns the state and its JSON, which all viewers share for a second.
func (p *Page) snapshot() (State, []byte) {
	s := &p.shared
	s.Lock()
	defer s.Unlock()
	now := time.Now()
	if s.text != nil && now.Sub(s.at) < time.Second {
		return s.state, s.text
	}
	s.at = now
	s.state, s.unfilled = p.read(now)
	s.text, _ = json.Marshal(s.state) // it has nothing that JSON does not have
	return s.state, s.text
}

// unfilled returns why the caches are not filled that are not, a second ago at most.
func (p *Page) unfilled() map[informer.Untyped]string {
	p.snapshot()
	p.shared.Lock()
	defer p.shared.Unlock()
	return p.shared.unfilled
}

// read reads the state, and why the caches are not filled that are not.
func (p *Page) read(now time.Time) (st State, why map[informer.Untyped]string) {
	all := p.views()
	why = map[informer.Untyped]string{}
	st = State{Time: now.UTC(), Memory: memory(), Informers: []Informer{}, Queues: []Queue{}, Controllers: []Queue{}, Replicas: []ReplicaState{}}
	late, cancel := context.WithTimeout(context.Background(), busyAfter)
	defer cancel()
	for _, v := range all.informers {
		v.begin(now)
	}
	for _, v := range all.informers {
		in := v.state(late.Done())
		st.Informers = append(st.Informers, in)
		if in.unfilled != "" {
			why[v.inf] = in.unfilled
		}
	}
	for _, v := range all.queues {
		st.Queues = append(st.Queues, v.state(now, why))
	}
	for _, v := range all.controllers {
		st.Controllers = append(st.Controllers, v.state(now, why))
	}
	for _, v := range all.replicas {
		st.Replicas = append(st.Replicas, v.state(now))
	}
	return st, why
}
