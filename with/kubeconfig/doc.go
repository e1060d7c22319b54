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
// # In a pod
//
// Without a kubeconfig, Load assumes that it runs in a pod if the environment variables
// KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are both set. The kubelet sets them in
// each container. The files token and ca.crt in /var/run/secrets/kubernetes.io/serviceaccount
// must then exist. If one is missing, Load returns the error of the file and not [ErrNoConfig].
//
// A kubeconfig that exists comes first, even in a pod. If its context names no namespace, Load
// uses the pod's namespace, provided that these variables are set and the file token exists.
// The pod's namespace is the environment variable POD_NAMESPACE, or else the content of the
// file namespace in the same folder, or else "default".
//
// # Credentials
//
// Certificates, tokens and their files go through [client.NewConnection], so files are read
// again when they change. client-go handles exec plugins (of EKS, GKE, AKS and any other) and
// OIDC. A plugin that hangs cannot block a request for ever: see [Options].PluginTimeout. Like
// kubectl, the package sends no credentials to a server with an http URL.
//
// This is a separate module because it needs client-go, which the rest of Kinform does not.
package kubeconfig
