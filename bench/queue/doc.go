// Package queue measures github.com/kinform/kinform/queue beside client-go's typed work queues and
// controller-runtime's priority queue. Each benchmark runs its contenders in turns within one run,
// round by round, so that a busy machine slows all of them alike, and reports the median of each
// with the ratio to ours: above 1 means that ours is faster.
//
//	go test ./queue -run '^$' -bench . -benchtime 30x
//	go test ./queue -run . -v          # memory and goroutines
package queue
