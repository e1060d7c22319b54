//go:build e2e

package clientgo

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/with/envtest/apiserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// standIn starts the server of with/envtest.
func standIn(t *testing.T) *rest.Config {
	t.Helper()
	server, err := apiserver.New(apiserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		web.CloseClientConnections()
		web.Close()
	})
	return &rest.Config{Host: web.URL, QPS: -1}
}

// kubeAPIServer starts a kube-apiserver.
func kubeAPIServer(t *testing.T) *rest.Config {
	t.Helper()
	c := cluster.Start(t, cluster.Options{})
	return &rest.Config{Host: c.URL(), BearerToken: c.Token(), TLSClientConfig: rest.TLSClientConfig{CAFile: c.CAFile()}, QPS: -1}
}

// compare calls see for the stand-in and, if that is asked for, for a kube-apiserver. It fails if
// they differ.
func compare[T any](t *testing.T, see func(t *testing.T, config *rest.Config) T) {
	t.Helper()
	var fake, want T
	t.Run("stand-in", func(t *testing.T) { fake = see(t, standIn(t)) })
	t.Logf("%v", fake)
	if os.Getenv(cluster.Variable) != "1" {
		t.Logf("set %s=1 to compare with a kube-apiserver", cluster.Variable)
		return
	}
	t.Run("kube-apiserver", func(t *testing.T) { want = see(t, kubeAPIServer(t)) })
	if d := cmp.Diff(want, fake); d != "" {
		t.Errorf("-kube-apiserver +stand-in:\n%s", d)
	}
}

// clients returns a clientset with its own connections, which end with the test.
func clients(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	set, err := kubernetes.NewForConfigAndClient(config, httpClient(t, config))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func httpClient(t *testing.T, config *rest.Config) *http.Client {
	t.Helper()
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}
