// Package arguments reads scripts: lines of words, and then of arguments such as name=value.
package arguments

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Lines returns the number, counted from 1, and the words of each line that has some. A hash begins a comment.
func Lines(text string) iter.Seq2[int, []string] {
	return func(yield func(int, []string) bool) {
		number := 0
		for line := range strings.Lines(text) {
			number++
			line, _, _ = strings.Cut(line, "#")
			if words := strings.Fields(line); len(words) > 0 && !yield(number, words) {
				return
			}
		}
	}
}

// Set is the arguments of a line. To read one takes it out.
type Set struct {
	values map[string]string
	err    error // the first one
}

// Of reads words of the form name=value.
func Of(words []string) *Set {
	s := &Set{values: map[string]string{}}
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if _, twice := s.values[name]; !ok || twice {
			s.Fail("%q: want name=value, each name once", w)
		}
		s.values[name] = value
	}
	return s
}

// Take returns the value of an argument, and whether there is one.
func (s *Set) Take(name string) (string, bool) {
	value, ok := s.values[name]
	delete(s.values, name)
	return value, ok
}

// Is reports whether an argument has a value, and then takes it.
func (s *Set) Is(name, value string) bool {
	is := s.values[name] == value
	if is {
		delete(s.values, name)
	}
	return is
}

// Fail notes an error. Done returns the first one.
func (s *Set) Fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// Number takes an integer of at least low and at most high. def replaces a missing one. A negative def makes the argument
// mandatory.
func (s *Set) Number(name string, def, low, high int) int {
	text, ok := s.Take(name)
	if !ok {
		if def < 0 {
			s.Fail("%s is missing", name)
		}
		return def
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		limit := ""
		if high < math.MaxInt32 {
			limit = fmt.Sprintf(" to %d", high)
		}
		s.Fail("%s=%s: want a number from %d%s", name, text, low, limit)
	}
	return n
}

// Duration takes a duration above zero. It is mandatory.
func (s *Set) Duration(name string) time.Duration {
	text, ok := s.Take(name)
	d, err := time.ParseDuration(text)
	if !ok || err != nil || d <= 0 {
		s.Fail("%s=%s: want a duration", name, text)
	}
	return d
}

// Done returns the first error. An argument that nothing has read is one.
func (s *Set) Done() error {
	if len(s.values) > 0 {
		s.Fail("unknown argument %q", slices.Min(slices.Collect(maps.Keys(s.values)))) // the same one in every run
	}
	return s.err
}
