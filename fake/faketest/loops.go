package faketest

import "github.com/kinform/kinform/fake"

// NoLoops fails the test if, at its end, a client of server has written the same field of an object ten times in a row
// for no reason, or has sent ten writes that changed nothing of an object. fake.Server.Loops says what counts. Call it
// when the server is made:
//
//	server := fake.New(fake.Options{})
//	faketest.NoLoops(t, server)
//
// A loop that a resync or a delay drives shows only if the test takes long enough, in virtual time.
func NoLoops(t TestingT, server *fake.Server) {
	t.Helper()
	t.Cleanup(func() {
		t.Helper()
		for _, line := range server.Loops() {
			t.Errorf("faketest: loop: %s", line)
		}
	})
}
