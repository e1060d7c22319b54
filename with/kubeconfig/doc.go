// Package kubeconfig makes a connection to the cluster that kubectl would use.
//
//	cluster, err := kubeconfig.Load(kubeconfig.Options{})
//	if err != nil {
//		return err
//	}
//	pods, err := client.New(cluster.Connection, core.Pods, client.Options{}) // package with/kubernetes/core
//
// For the namespace that kubectl would use, set client.Options.Namespace to cluster.Namespace.
// Leave it empty for all namespaces, and for cluster-scoped resources.
//
// [Load] reads the first of these that exists, in kubectl's order of precedence:
//
//   - the file in [Options].Path
//   - the files in the environment variable KUBECONFIG, merged
//   - the file .kube/config in the home directory
//   - in a pod, its service account
//
// # Credentials
//
// Certificates, tokens and their files go through [client.NewConnection], so files are read
// again when they change. Exec plugins (of EKS, GKE, AKS and any other) and OIDC are handled
// by client-go. A plugin that hangs cannot block a request for ever: see
// [Options].PluginTimeout. Like kubectl, the package sends no credentials to a server with an
// http URL.
//
// The package is a separate module because it needs client-go, which the rest of Kinform does
// not.
package kubeconfig
