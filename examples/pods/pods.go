// Package pods has an example: a Pod is created, read, changed and deleted with the typed
// client. See example_test.go.
package pods
