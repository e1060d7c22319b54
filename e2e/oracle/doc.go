// Package oracle talks to a Kubernetes API without a line of Kinform, so that a test can bring the server into a state,
// and ask the server itself for the truth that a cache is compared with.
//
// It is a plain client for JSON: one request per call, no cache, no retry, no rate limit. Types are those of k8s.io/api
// or any other struct with their JSON form. [Client] is safe for concurrent use; [Each] is the bounded parallelism that
// bulk work wants.
package oracle
