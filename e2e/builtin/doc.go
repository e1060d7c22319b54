// Package builtin compares the kinds of with/kubernetes with the discovery of a real API server,
// both ways: every kind is as served, and every kind served by default that k8s.io/api has a Go
// type for is there.
//
// After a new version of Kubernetes, record its discovery and make the kinds anew:
//
//	KINFORM_E2E=1 go test ./e2e/builtin -args -record ../../with/kubernetes/internal/generate/discovery.json
//	go generate ./with/kubernetes
package builtin
