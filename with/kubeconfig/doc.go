// Package kubeconfig makes a connection to the cluster that kubectl would talk to.
//
//	cluster, err := kubeconfig.Load(kubeconfig.Options{})
//	if err != nil {
//		return err
//	}
//	pods, err := client.New[*corev1.Pod](cluster.Connection, corev1.SchemeGroupVersion.WithResource("pods"), client.Options{})
//
// For the namespace that kubectl would use, set client.Options.Namespace to cluster.Namespace.
// Leave it empty for all namespaces, and for cluster-scoped resources.
//
// [Load] reads the first of these that exists, in kubectl's order of precedence: the file that
// [Options].Path names; the files of the environment variable KUBECONFIG, merged; the file
// .kube/config in the home directory; and within a pod without any of them, its service account.
//
// # Credentials
//
// Certificates, tokens, and the files of both go through [client.NewConnection], so they are read
// again when they change. Exec plugins (those of EKS, GKE and AKS, and any other) and OIDC are
// client-go's. A plugin that hangs does not hold up a request for ever: see
// [Options].PluginTimeout. A server with an http URL is sent no credentials, as by kubectl.
//
// The package is a module of its own because it needs client-go, which the rest of Kinform does
// not.
package kubeconfig
