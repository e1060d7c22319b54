//go:build race

package queue

// raceEnabled says whether the race detector is on, which makes tests ten times slower.
const raceEnabled = true
