// Package readme has the controller of README.md as a test, so that what the README shows
// compiles and works. See example_test.go.
package readme
