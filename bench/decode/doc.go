// Package decode compares the decoders of Kinform and client-go. It first checks that both
// produce the same objects, for every type that client-go knows, and then measures their time.
// It has tests and benchmarks only.
package decode
