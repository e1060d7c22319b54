// Package longtest tells random tests how much to do. Each has a short form, which every change runs, and a long one, which
// .ci/nightly runs by setting KINFORM_LONG=1.
package longtest

import "os"

// Variable is the name of the environment variable that asks for the long form with the value 1.
const Variable = "KINFORM_LONG"

// On reports whether the long form is asked for.
func On() bool { return os.Getenv(Variable) == "1" }

// N returns long in the long form and else short.
func N[I int | uint64](short, long I) I {
	if On() {
		return long
	}
	return short
}
