package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// etcdArgs returns the arguments of a single-member etcd. Without fsync it survives the death of
// the process, though not of the machine, which is all that a test can do to it. The short election
// makes it ready at once. Progress notices tell the watch cache of revisions that other resources
// made, without which an idle resource has no bookmarks; production uses 5 s, and etcd's own
// default is 10 minutes.
func etcdArgs(dir, clientURL, peerURL string) []string {
	return []string{
		"--name=e2e",
		"--data-dir=" + filepath.Join(dir, "etcd"),
		"--listen-client-urls=" + clientURL,
		"--advertise-client-urls=" + clientURL,
		"--listen-peer-urls=" + peerURL,
		"--initial-advertise-peer-urls=" + peerURL,
		"--initial-cluster=e2e=" + peerURL,
		"--unsafe-no-fsync",
		"--heartbeat-interval=10",
		"--election-timeout=100",
		"--watch-progress-notify-interval=1s",
		"--log-level=error",
	}
}

// apiServerArgs returns the arguments of the API server. Compaction is off: only Cluster.Compact
// forgets history. Authorization is by roles, because AlwaysAllow switches anonymous health checks
// off. Without a controller manager there are no service accounts, so their admission, which would
// refuse every pod, is off. The grace period ends open watches on SIGTERM; without it the server
// waits a minute for them.
func apiServerArgs(dir, etcdURL, port string) []string {
	key := filepath.Join(dir, "service-account.key")
	return []string{
		"--etcd-servers=" + etcdURL,
		"--etcd-compaction-interval=0",
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + port,
		"--cert-dir=" + filepath.Join(dir, "certs"),
		"--token-auth-file=" + filepath.Join(dir, "tokens.csv"),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + key,
		"--service-account-signing-key-file=" + key,
		"--service-cluster-ip-range=10.0.0.0/24",
		"--endpoint-reconciler-type=none",
		"--disable-admission-plugins=ServiceAccount",
		"--shutdown-watch-termination-grace-period=1s",
	}
}

// writeCredentials writes the files in dir that apiServerArgs names: two users, and the key that
// signs the tokens of service accounts, without which the server does not start.
func writeCredentials(dir, admin, guest string) error {
	tokens := fmt.Sprintf("%s,admin,admin,\"system:masters\"\n%s,guest,guest\n", admin, guest)
	if err := os.WriteFile(filepath.Join(dir, "tokens.csv"), []byte(tokens), 0o600); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return os.WriteFile(filepath.Join(dir, "service-account.key"), text, 0o600)
}

// freePorts returns n different TCP ports of the loopback interface that nobody listens at. They
// lie below the range from which the system picks the local ports of outgoing connections (32768 on
// Linux, 49152 elsewhere): a client that redials a server which is down could otherwise be given
// the server's port, and even connect to itself.
func freePorts(n int) ([]string, error) {
	const low, high, tries = 20000, 32000, 1000
	var ports []string
	var open []net.Listener // held until all are found, so that they differ
	defer func() {
		for _, l := range open {
			_ = l.Close()
		}
	}()
	for range tries {
		if len(ports) == n {
			return ports, nil
		}
		port := strconv.Itoa(low + mathrand.IntN(high-low))
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			continue
		}
		open = append(open, l)
		ports = append(ports, port)
	}
	return nil, errors.New("no free TCP port on 127.0.0.1 between 20000 and 32000")
}
