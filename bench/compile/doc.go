// Package compile measures what a user's package compiles of Kinform. Go compiles a generic type
// again in each package that mentions it, with all of its methods. So the text of these functions,
// in bytes, is the wait between saving a file and its test. It is the same at each load of a machine.
//
//	go test -v -run TestText ./compile # from bench/
package compile
