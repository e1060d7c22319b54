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

// journalSize is the number of notes that a journal keeps.
const journalSize = 100

// journal collects notes and errors from any goroutine.
type journal struct {
	start time.Time

	mu      sync.Mutex
	notes   []live.Note // the newest
	noted   int         // notes ever made
	errors  uint64
	lastErr error
}

// note adds a note for the reader.
func (j *journal) note(text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.add(text)
}

// failed adds an error after which the program continues.
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

// describe returns err as text without repetitions.
func describe(err error) string {
	req := (*reflector.RequestError)(nil)
	if !errors.As(err, &req) {
		return err.Error()
	}
	return fmt.Sprintf("%s %s, again in %v: %s", req.Verb, req.Resource, req.RetryIn.Round(time.Millisecond), cause(req))
}

// cause returns the reason of a failed request, without the request itself.
func cause(req *reflector.RequestError) string {
	if at := (*url.Error)(nil); errors.As(req.Err, &at) {
		return at.Err.Error()
	}
	return strings.TrimPrefix(req.Err.Error(), req.Verb+" "+req.Resource+": ")
}

// since returns the notes made after the first n, but only the newest limit of them, and the
// current number of notes.
func (j *journal) since(n, limit int) (notes []live.Note, total int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	want := min(j.noted-n, len(j.notes), limit)
	return slices.Clone(j.notes[len(j.notes)-want:]), j.noted
}

// failures returns the number of errors, and the last one.
func (j *journal) failures() (uint64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.errors, j.lastErr
}
