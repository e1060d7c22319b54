// Package decode compares how Kinform and client-go decode objects: first that both get
// the same, for every type that client-go knows, then how long each takes. It has tests
// and benchmarks only.
package decode
