package client

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// serviceAccountDir is the folder of every pod's credentials.
// (https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/)
const serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// InCluster makes the connection from a pod to the server of its own cluster, as the pod's
// service account. The address comes from KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT,
// the token and the CA from files that the kubelet keeps up to date (see [ConnectionOptions]).
// It returns [ErrNotInCluster] if those variables are not set, and otherwise the error of a
// file. It sends nothing. A token or CA in opts replaces the pod's; opts may be zero.
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
