package eventlog

import "context"

// WaitLag waits until no cursor has a lag of more than limit events, lossy cursors aside, as a
// writer does. It returns ctx's error if ctx ends first.
func (l *Log[E]) WaitLag(ctx context.Context, limit uint64) error {
	for {
		moved := Lagging(l, limit)
		if moved == nil {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
