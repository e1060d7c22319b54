package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kinform/kinform/examples/quickstart/internal/live"
	"github.com/kinform/kinform/reflector"
)

// journalSize is how many notes a journal keeps.
const journalSize = 100

// journal gathers what happens, from any goroutine.
type journal struct {
	start time.Time

	mu      sync.Mutex
	notes   []live.Note // the newest
	noted   int         // notes ever made
	errors  uint64
	lastErr error
}

// note adds what is worth to be read.
func (j *journal) note(text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.add(text)
}

// failed adds an error that the program goes on from.
func (j *journal) failed(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.errors++
	j.lastErr = err
	j.add(describe(err))
}

func (j *journal) add(text string) {
	j.noted++
	j.notes = append(j.notes, live.Note{At: time.Since(j.start), Text: text})
	if len(j.notes) > journalSize {
		j.notes = slices.Delete(j.notes, 0, len(j.notes)-journalSize)
	}
}

// describe is err with everything said once.
func describe(err error) string {
	req := (*reflector.RequestError)(nil)
	if !errors.As(err, &req) {
		return err.Error()
	}
	return fmt.Sprintf("%s %s, again in %v: %s", req.Verb, req.Resource, req.RetryIn.Round(time.Millisecond), cause(req))
}

// cause is why a request failed, without the words for which.
func cause(req *reflector.RequestError) string {
	if at := (*url.Error)(nil); errors.As(req.Err, &at) {
		return at.Err.Error()
	}
	return strings.TrimPrefix(req.Err.Error(), req.Verb+" "+req.Resource+": ")
}

// since returns the notes made after the first n, not more than limit and the newest
// rather than older ones, and how many there are now.
func (j *journal) since(n, limit int) (notes []live.Note, total int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	want := min(j.noted-n, len(j.notes), limit)
	return slices.Clone(j.notes[len(j.notes)-want:]), j.noted
}

// failures returns how many errors there were, and the last one.
func (j *journal) failures() (uint64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.errors, j.lastErr
}
