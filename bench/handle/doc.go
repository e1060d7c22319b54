// Package handle measures the cost of a handle (controller.Handle) beside the informer and the
// store in it.
//
//	go test -run '^$' -bench . -benchmem -count 6 . | benchstat -col /of -
package handle
