//go:build !linux

package ops

import "time"

var began = time.Now()

// threadTime returns the time by the clock, for want of that of the thread.
func threadTime() time.Duration { return time.Since(began) }

// processTime returns the time by the clock, for want of that of the process.
func processTime() time.Duration { return time.Since(began) }
