package client

import "time"

// Received implements reflector.ReadCounter with Stats. So a reflector's Stats report the bytes and
// time of all calls of this Resource.
func (r *Resource[T]) Received() (bytes uint64, decoding time.Duration) {
	s := r.Stats()
	return uint64(s.Bytes), s.DecodeTime
}
