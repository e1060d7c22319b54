//go:build !linux

package ops

import "time"

// pacer ticks at a steady rate, as well as a sleep can.
type pacer struct {
	interval time.Duration
	next     time.Time
}

func newPacer(interval time.Duration) (*pacer, error) {
	return &pacer{interval: interval, next: time.Now()}, nil
}

// wait returns at the next tick, at once if that was missed.
func (p *pacer) wait() error {
	p.next = p.next.Add(p.interval)
	time.Sleep(time.Until(p.next))
	return nil
}

func (p *pacer) close() {}
