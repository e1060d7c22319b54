// Package proxy forwards TCP connections to a server and damages them on request, like faults of
// networks, load balancers and firewalls. It does not change TLS, so client and server use their
// own stacks.
//
// # Concurrency
//
// All methods may be called from any goroutine. A connection has two goroutines, one for each
// direction. [Proxy.Close] returns when all of them have ended.
package proxy
