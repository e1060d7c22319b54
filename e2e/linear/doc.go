// Package linear tests that the store and the queue are linearizable: whatever goroutines do at the
// same time, each operation seems to happen at one moment between its call and its return. Random
// histories are recorded and given to porcupine, with a model in a few lines. The tests need no
// servers.
package linear
