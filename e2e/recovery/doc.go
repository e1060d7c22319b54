//go:build e2e

// Package recovery measures the time until informers are right again after a fault. It measures
// Kinform and client-go in the same rounds on the same kube-apiserver.
//
// # The measurement
//
// Each library has ten informers of ten kinds, with its defaults, and reaches the server through
// its own proxy. An event breaks something. While it lasts, the test writes objects that no
// informer can see. The clock starts when the server is reachable and right: it is ready, the
// proxies forward, and the written objects exist. The clock stops when all caches of a library have
// these objects. Then the test compares every cache with a list that neither library has made.
package recovery
