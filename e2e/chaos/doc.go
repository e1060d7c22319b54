//go:build e2e

// Package chaos has a test that lets informers run on a real API server while everything between
// them and its data breaks in turn, and compares their caches with the server after each fault.
// Informers of client-go watch the same objects beside them, so that the time until both are right
// again is measured in the same rounds. Contents that change without a write and without a version,
// by a default or a conversion, count for Kinform alone: only its caches are compared in contents.
//
// A controller writes meanwhile what follows from the objects. After each fault all of that must come, and at the end none
// of its keys may have been taken for one in a loop.
//
//	KINFORM_E2E=1 go test -tags e2e -timeout 60m -run Chaos -v ./e2e/chaos -args -chaos.time 30m -chaos.outage 20s
//
// The faults, their order and their lengths come from a seed, which the test prints. The flag
// -chaos.seed repeats them.
package chaos
