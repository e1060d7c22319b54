// Package broadcast wakes goroutines that wait for a change of what a lock guards.
package broadcast

// Signal wakes all who wait for it. The zero value is ready to use. The lock of what they wait for guards it:
// who finds under the lock that nothing has changed yet calls Wait, and who changes something calls Send,
// so no change is missed. It costs nothing while nobody waits.
type Signal struct{ sent chan struct{} }

// Wait returns a channel that the next Send closes. Wait for it without the lock, and look again then.
func (s *Signal) Wait() <-chan struct{} {
	if s.sent == nil {
		s.sent = make(chan struct{})
	}
	return s.sent
}

// Send wakes those who have called Wait since the last Send.
func (s *Signal) Send() {
	if s.sent != nil {
		close(s.sent)
		s.sent = nil
	}
}
