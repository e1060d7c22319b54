// Package builtin compares the kinds of with/kubernetes with the discovery of a real API server,
// both ways: every kind is as served, and every kind served by default that k8s.io/api has a Go
// type for is there. It also compares the schemas below /openapi, word by word.
//
// After a new version of Kubernetes, record its discovery, make the kinds anew, and record what
// types do not say about their schemas:
//
//	KINFORM_E2E=1 go test ./e2e/builtin -run TestKinds -args -record ../../with/kubernetes/internal/generate/discovery.json
//	go generate ./with/kubernetes
//	echo {} >with/kubernetes/openapi/server.json
//	KINFORM_E2E=1 go test ./e2e/builtin -run TestSchemas -args -schemas ../../with/kubernetes/openapi/server.json
package builtin
