package kubeconfig

import (
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is an API server that keeps the header of each request and knows no objects.
type server struct {
	*httptest.Server
	mu   sync.Mutex
	last http.Header

	refuses atomic.Bool // with 401
}

func newServer(t *testing.T) *server {
	s := &server{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.last = r.Header.Clone()
		s.mu.Unlock()
		if s.refuses.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/pods") {
			_, _ = fmt.Fprint(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[]}`)
			return
		}
		_, _ = fmt.Fprint(w, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"one","namespace":"prod"}}`)
	}))
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// header returns the last request's header.
func (s *server) header() http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// ca is the path of a file with the server's certificate.
func (s *server) ca(t *testing.T) string {
	return write(t, "ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
}

// write makes a file, which can be run, and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// config is a kubeconfig with contexts a and b, whose clusters have different addresses and one
// user.
func (s *server) config(t *testing.T, user string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Config
current-context: a
contexts:
- name: a
  context: {cluster: here, user: me, namespace: prod}
- name: b
  context: {cluster: there, user: me}
clusters:
- name: here
  cluster: {server: %q, certificate-authority: %q}
- name: there
  cluster: {server: "https://there.test"}
users:
- name: me
  user: %s
`, s.URL, s.ca(t), user)
}

// alone keeps what the machine has of kubeconfigs away from a test.
func alone(t *testing.T) {
	home := clientcmd.RecommendedHomeFile // of when the process began
	t.Cleanup(func() { clientcmd.RecommendedHomeFile = home })
	clientcmd.RecommendedHomeFile = filepath.Join(t.TempDir(), ".kube", "config")
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
}

// get gets an object with the connection.
func get(t *testing.T, conn client.Connection) error {
	t.Helper()
	t.Cleanup(conn.HTTP.CloseIdleConnections)
	_, err := resource(t, conn).Get(t.Context(), types.NamespacedName{Namespace: "prod", Name: "one"}, metav1.GetOptions{})
	return err
}

// list asks for a list, whose answer may be compressed.
func list(t *testing.T, conn client.Connection) error {
	t.Helper()
	t.Cleanup(conn.HTTP.CloseIdleConnections)
	_, err := resource(t, conn).List(t.Context(), metav1.ListOptions{}, func(reflector.Event[*metav1.PartialObjectMetadata], error) bool { return true })
	return err
}

func resource(t *testing.T, conn client.Connection) *client.Resource[*metav1.PartialObjectMetadata] {
	t.Helper()
	r, err := client.New(conn, kind.OfResource[*metav1.PartialObjectMetadata](schema.GroupVersionResource{Version: "v1", Resource: "pods"}), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func load(t *testing.T, opts Options) Cluster {
	t.Helper()
	c, err := Load(opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
