package reflector

// Breaker is what the reflectors of one connection know of its server. The zero value is a
// server that is thought to be well.
type Breaker struct{}
