package client

import "time"

// Received implements reflector.Meter by Stats: the bytes and the time that a reflector's
// own Stats report are those of all calls of this Resource.
func (r *Resource[T]) Received() (bytes uint64, decoding time.Duration) {
	s := r.Stats()
	return uint64(s.Bytes), s.DecodeTime
}
