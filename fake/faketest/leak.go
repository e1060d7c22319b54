package faketest

import "go.uber.org/goleak"

// TestingT is the part of *testing.T that [NoLeaks] uses.
type TestingT interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
}

// NoLeaks fails the test if a goroutine that started after this call still runs at the end of the
// test. Make it the first line of the test: cleanups run in reverse order, so its check comes
// last. Do not use it in parallel tests, which see each other's goroutines.
func NoLeaks(t TestingT) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		t.Helper()
		if err := goleak.Find(before); err != nil {
			t.Errorf("faketest: %v", err)
		}
	})
}
