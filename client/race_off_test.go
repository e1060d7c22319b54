//go:build !race

package client_test

// raceEnabled says that everything is ten times slower.
const raceEnabled = false
