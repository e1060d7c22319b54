// Package proxy forwards TCP connections to a server and damages them on request: the faults that networks, load
// balancers and firewalls bring about. TLS passes through untouched, so the clients on both sides keep their own stacks.
//
// # Concurrency
//
// All methods may be called from any goroutine. A connection has two goroutines, one for each direction.
// [Proxy.Close] returns when all of them have ended.
package proxy
