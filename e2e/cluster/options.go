package cluster

import "io"

// Options says how the servers run. The zero value is a default Kubernetes API with its watch
// cache, with role-based authorization and without compaction.
type Options struct {
	// ExtraAPIServerArgs follow the arguments that the package sets, for every start of the API
	// server until Process.SetExtraArgs. A flag given here replaces the package's value of the same
	// flag. Useful ones:
	//
	//	--watch-cache-sizes=configmaps#0  the resource is served by etcd, so that a compaction shows as 410
	//	--min-request-timeout=2           watches end by themselves after 2-4 s
	//	--goaway-chance=0.01              one request in a hundred ends its HTTP/2 connection
	//	--feature-gates=NAME=true         as on any cluster
	ExtraAPIServerArgs []string

	// ExtraEtcdArgs are the same for etcd.
	ExtraEtcdArgs []string

	// Dir holds certificates, data and logs. It must exist, and stays when the cluster is closed.
	// Empty means a temporary directory that goes with the cluster.
	Dir string

	// Progress gets lines of text about a cold build of the servers. Nil discards them.
	Progress io.Writer
}
