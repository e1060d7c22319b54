// Package oracle is a client of a Kubernetes API that uses no code of Kinform. A test brings the
// server into a state with it, and compares a cache with the server's own answers.
//
// It is a plain client for JSON: one request per call, no cache, no retry, no rate limit. It takes
// the types of k8s.io/api, and any other struct with their JSON form. [Client] is safe for concurrent
// use. [Each] runs many calls at the same time, up to a limit.
package oracle
