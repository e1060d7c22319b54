// Package handle measures what a handle (controller.Handle) costs beside the informer and the store
// that it is made of.
//
//	go test -run '^$' -bench . -benchmem -count 6 . | benchstat -col /of -
package handle
