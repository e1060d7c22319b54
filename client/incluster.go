package client

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// serviceAccountDir is where every pod finds its credentials.
// (https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/)
const serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// InCluster makes the connection of a pod to the server of its own cluster, as its service
// account: at the address in KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, with the
// token and the CA that the kubelet keeps up to date on disk (see [ConnectionOptions]). The
// error is [ErrNotInCluster] where those variables are not set, and otherwise that of a
// file. It sends nothing. A token or CA in opts takes the place of the pod's; opts may be
// zero.
func InCluster(opts ConnectionOptions) (Connection, error) {
	return inCluster(os.Getenv, serviceAccountDir, opts)
}

func inCluster(getenv func(string) string, dir string, opts ConnectionOptions) (Connection, error) {
	host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return Connection{}, ErrNotInCluster
	}
	if opts.CAFile == "" && len(opts.CA) == 0 && !opts.Insecure {
		opts.CAFile = filepath.Join(dir, "ca.crt")
	}
	if opts.TokenFile == "" && opts.Token == "" {
		opts.TokenFile = filepath.Join(dir, "token")
	}
	conn, err := NewConnection("https://"+net.JoinHostPort(host, port), opts)
	if err != nil {
		return Connection{}, fmt.Errorf("service account: %w", err)
	}
	return conn, nil
}
