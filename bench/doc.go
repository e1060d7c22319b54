// Package bench measures kinform beside client-go: the same work by both, in one process, in turns.
// The operations are in internal/ops. Those over HTTP start their server as another process, from
// the program's own file, so that the server's time and memory do not count.
//
//	go run ./bench/cmd/report                                    # from the root: RESULTS.md and charts
//	go test -run '^$' -bench . -count 6 . | benchstat -col /impl -  # from here: benchstat's view
//
// Package queue has the measurements of work queues.
package bench
