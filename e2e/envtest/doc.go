//go:build e2e

// Package envtest runs the test suites of controller-runtime on the programs of with/strategies and
// with/envtest, which stand in for kube-apiserver and etcd. The suites stay in the module cache and run unchanged: only
// KUBEBUILDER_ASSETS says where the programs are.
//
// The test needs KINFORM_E2E=1 and no real server. It fails if a spec does not pass. Without KINFORM_LONG=1 it runs the suites that
// take seconds.
package envtest
