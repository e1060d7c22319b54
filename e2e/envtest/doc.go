//go:build e2e

// Package envtest runs the test suites of controller-runtime and of operators on the programs of with/strategies and
// with/envtest, which stand in for kube-apiserver and etcd. The suites stay in the module cache and run unchanged: only
// KUBEBUILDER_ASSETS says where the programs are.
//
// The tests need KINFORM_E2E=1 and no real server. They fail if a spec or test does not pass. Without KINFORM_LONG=1
// they run the suites of controller-runtime that take seconds.
//
// The projects of kubebuilder's book are no modules of a proxy, so nobody runs them here. By hand: copy
// docs/book/src/cronjob-tutorial/testdata/project out of kubebuilder, and run go test ./... in it with
// KUBEBUILDER_ASSETS.
package envtest
