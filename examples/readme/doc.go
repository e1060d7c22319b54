// Package readme holds the controller of README.md as a test, so the README's code compiles
// and works. See example_test.go.
package readme
