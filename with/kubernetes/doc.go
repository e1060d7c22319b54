// Package kubernetes holds the kinds of Kubernetes itself, one package per API group:
//
//	import "github.com/kinform/kinform/with/kubernetes/core"
//
//	pods, err := client.New(conn, core.Pods, client.Options{})
//
// It has all kinds that a kube-apiserver serves by default and that k8s.io/api has a Go type
// for. If a group is served in several versions, its package has the version that the server
// prefers, and a package below it has the other: autoscaling.HorizontalPodAutoscalers is v2,
// and autoscaling/v1 has v1. A package links only the types of its group, and the types that
// they refer to.
//
// Package all lists every kind. Package fakekube registers them with a fake server, where the
// versions of a resource, and events of both groups, are the same objects.
//
// The packages are generated from the discovery of a real server, which is recorded in
// internal/generate/discovery.json. Package e2e/builtin compares them with a real server.
//
// This is a separate module because it needs k8s.io/api, which the rest of Kinform does not.
package kubernetes

//go:generate go run ./internal/generate
