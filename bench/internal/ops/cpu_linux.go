package ops

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the processor time of the calling thread. Cost: a system call, some 200
// ns.
func threadTime() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) // fails for an unknown clock only
	return time.Duration(ts.Nano())
}

// processTime returns the processor time of the process.
func processTime() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts) // fails for an unknown clock only
	return time.Duration(ts.Nano())
}
