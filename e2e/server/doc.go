// Package server is the place of a module that pins the programs of the end-to-end tests, etcd,
// kube-apiserver and kubectl, as tools. It has no code.
//
// The module is kept out of go.work: its several hundred dependencies concern no other module, and
// no version of theirs may move one of the library's. To build the programs by hand, in this
// directory:
//
//	export GOWORK=off CGO_ENABLED=0
//	go build -o DIR/etcd go.etcd.io/etcd/server/v3
//	go build -ldflags='-s -w -X k8s.io/component-base/version.gitVersion=v1.37.1' \
//		-o DIR/kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
//
// k8s.io/kubernetes names its staging modules as v0.0.0 and replaces them with directories.
// Replacements of a dependency do not count here, so go.mod requires each at the release that
// belongs to it: v0.37.x for v1.37.x. To move to another release, change all of them together, run
// go mod tidy, and change the version in e2e/cluster/build.go.
package server
