// Package longtest sets the amount of work of random tests. Each has a short form, which runs
// for every change, and a long form, which .ci/nightly runs by setting KINFORM_LONG=1.
package longtest

import "os"

// Variable is the name of the environment variable that selects the long form with the value
// 1.
const Variable = "KINFORM_LONG"

// On reports whether the long form is selected.
func On() bool { return os.Getenv(Variable) == "1" }

// N returns long in the long form and otherwise short.
func N[I int | uint64](short, long I) I {
	if On() {
		return long
	}
	return short
}
