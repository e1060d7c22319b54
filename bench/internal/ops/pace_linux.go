package ops

import (
	"encoding/binary"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pacer ticks at a steady rate. The kernel's clock wakes the waiting goroutine through the
// network poller, like a goroutine that reads from a connection. In a program that does
// nothing else, a sleep lasts a millisecond or more, so the events would come in bursts.
type pacer struct {
	timer  *os.File
	missed uint64 // ticks that passed before wait was called
}

func newPacer(interval time.Duration) (*pacer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	every := unix.NsecToTimespec(int64(interval))
	if err := unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Interval: every, Value: every}, nil); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return &pacer{timer: os.NewFile(uintptr(fd), "timer")}, nil
}

// wait returns at the next tick, at once if that was missed.
func (p *pacer) wait() error {
	if p.missed > 0 {
		p.missed--
		return nil
	}
	var ticks [8]byte
	if _, err := p.timer.Read(ticks[:]); err != nil {
		return err
	}
	p.missed = binary.NativeEndian.Uint64(ticks[:]) - 1
	return nil
}

func (p *pacer) close() { _ = p.timer.Close() }
