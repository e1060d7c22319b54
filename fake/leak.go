package fake

import "go.uber.org/goleak"

// TestingT is what the helpers need of a *testing.T.
type TestingT interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
}

// NoLeaks makes the test fail if it leaves goroutines behind that were not there when
// NoLeaks was called. Make it the first line of the test, so that it looks last. It is
// not for parallel tests, which see each other's goroutines.
func NoLeaks(t TestingT) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		t.Helper()
		if err := goleak.Find(before); err != nil {
			t.Errorf("fake: %v", err)
		}
	})
}
