// Package others runs the tests of other libraries on Kinform. The tests stay where they are, in the module cache, and
// nothing of theirs is copied here: the go command's -overlay puts a few lines at the beginning of the constructors that
// the tests call, so that these return Kinform's counterparts.
//
// docs/others-tests.md has the results. The test needs KINFORM_E2E=1 and no server, and fails if the page is not true any
// more. Without KINFORM_LONG=1 it runs only the tests of tools/cache. With it, it writes the page with -update:
//
//	KINFORM_E2E=1 KINFORM_LONG=1 go test ./e2e/others -update
package others
