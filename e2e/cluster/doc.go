// Package cluster runs a real Kubernetes API for tests: one etcd and one kube-apiserver on the
// loopback interface, as child processes that a test can kill, stop and start again apart from each
// other.
//
// There is no node, no scheduler and no controller. Objects are stored, validated, defaulted,
// listed and watched as in production, but nothing finalizes a namespace, collects garbage or runs
// a pod. A pod that has a node name therefore stays in termination for ever unless it is deleted
// with a grace period of zero.
//
// # Gate
//
// [Start] skips the test unless the environment holds KINFORM_E2E=1, before anything is built:
//
//	KINFORM_E2E=1 go test -tags e2e -timeout 30m ./e2e/...
//
// # Servers
//
// Both programs are built from Go modules, listed in e2e/server, a separate module whose
// go.mod contains only tools. So the tests' module needs none of the servers' dependencies,
// and -race does not apply to the servers. [Build] keeps the programs in the user's cache
// directory. A test that finds them there starts within two seconds.
//
// # Lifetime
//
// Every child process has one goroutine, which starts it, waits for it and ends with it;
// [Process.Kill], [Process.Stop] and [Cluster.Close] return after that goroutine has ended. On
// Linux a child also dies with the process that started it, so that an aborted test leaves nothing
// behind. All methods may be called from any goroutine.
package cluster
