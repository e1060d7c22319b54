// Package conformance holds one suite of the API's behaviours, as scripts of requests, and runs it
// against package fake's server and against a real kube-apiserver.
//
// testdata/*.txt are the scripts. After each request stands what the real server answered, written
// down by
//
//	KINFORM_E2E=1 go test ./conformance -run Real -update
//
// with what differs from run to run (uids, times, the values of resourceVersions) taken out.
// Without -update the same test compares a real server with the files. TestFake compares the fake,
// which takes no time: every difference must be a row of docs/fake-differences.md, and every row
// must still be a difference.
package conformance
