//go:build !linux

package ops

import "time"

var began = time.Now()

// threadTime returns the time by the clock, for want of the thread's time.
func threadTime() time.Duration { return time.Since(began) }

// processTime returns the time by the clock, for want of the process's time.
func processTime() time.Duration { return time.Since(began) }
