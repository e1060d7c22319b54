//go:build e2e

// Package beside runs the same informers twice, with Kinform and with client-go, so that both can
// be measured in the same events on the same server. A [Side] is one library with its informers.
// Both sides run with the defaults of their library.
package beside
