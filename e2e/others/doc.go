// Package others runs the tests and programs of other libraries on Kinform. They stay where they
// are, in the module cache, and nothing of theirs is copied here: the go command's -overlay puts a
// few lines at the beginning of the constructors that the tests call, so that these return
// Kinform's counterparts.
//
// docs/others-tests.md has the results of the tests. The test needs KINFORM_E2E=1, and fails if the
// page is not true any more. Without KINFORM_LONG=1 it runs only the tests of tools/cache, which
// need no server. With it, it writes the page with -update:
//
//	KINFORM_E2E=1 KINFORM_LONG=1 go test -timeout 1h ./e2e/others -update
//
// TestPrograms builds whole programs twice, as they are and with the change that moves them to
// Kinform, and compares what they leave on a real server.
package others
