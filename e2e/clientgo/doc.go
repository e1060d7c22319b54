//go:build e2e

// Package clientgo runs the parts of client-go that talk to an API server on the stand-in of
// with/envtest: leader election, the recorders of events, discovery with its caches, REST mappers
// and the clients of OpenAPI. client-go's own tests of these packages have no server: they answer
// themselves, by fake clientsets and handlers.
//
// With KINFORM_E2E=1 each test runs on a kube-apiserver as well, and what the parts see there is
// the same.
package clientgo
