// Package e2e tests Kinform against a real Kubernetes API. Package cluster runs the servers,
// package oracle makes the requests that do not go through Kinform, and the command record stores
// what the server sends as test data of the decoders.
//
// The tests that need servers are skipped unless they are asked for. Packages that have no other
// tests need the build tag e2e, so that nobody compiles them in vain:
//
//	KINFORM_E2E=1 go test -tags e2e -timeout 30m ./e2e/...
//
// The first such run compiles etcd and kube-apiserver from source, which takes about four minutes
// on two cores and needs nothing but Go and a module proxy. Later ones find them in the user's
// cache directory.
package e2e
