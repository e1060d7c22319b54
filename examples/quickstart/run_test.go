package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/examples/quickstart/internal/demo"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
)

// The summary in the end.
var (
	equalLine   = regexp.MustCompile(`(?m)^cache = server: ([0-9,]+) pods at resourceVersion \d+, and (\d+) summaries of nodes \(ConfigMaps (.*)\)$`)
	countsLine  = regexp.MustCompile(`(?m)^([0-9,]+) events, ([0-9,]+) reconciles, ([0-9,]+) writes; (\d+) lists, (\d+) watches, (\d+) errors on the way$`)
	workingLine = regexp.MustCompile(`(?m)^ +\d+\.\ds  pods [0-9,]+, version \d+, events [0-9,]+/s, queue `)
	listingLine = regexp.MustCompile(`(?m)^ +\d+\.\ds  pods [0-9,]+ of [0-9,]+ listed, errors 0$`)
)

// TestDemo runs the command of the README in virtual time.
func TestDemo(t *testing.T) {
	for _, tt := range []struct {
		args           string
		listing, lines int    // at least
		lists          string // in the end
	}{
		{"", 1, 10, "2"},
		{"-for 1s -plain -pods 50", 0, 0, "1"},
		{"-for 3s -changes 0 -pods 1", 0, 2, "1"},
		{"-for 25s -pods 300 -changes 100 -seed 5", 0, 20, "3"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var stdout, stderr bytes.Buffer
				if status := command(t.Context(), strings.Fields(tt.args), &stdout, &stderr); status != 0 || stderr.Len() > 0 {
					t.Errorf("status %d, stderr %q", status, stderr.String())
				}
				out := stdout.String()
				counts := countsLine.FindStringSubmatch(out)
				if !equalLine.MatchString(out) || counts == nil || counts[4] != tt.lists {
					t.Error("the summary is not what it should be")
				}
				if n := len(listingLine.FindAllString(out, -1)); n < tt.listing {
					t.Errorf("%d lines of listing", n)
				}
				if n := len(workingLine.FindAllString(out, -1)); n < tt.lines {
					t.Errorf("%d lines of work", n)
				}
				if t.Failed() {
					t.Log(out)
				}
			})
		})
	}
}

// TestInterrupt ends a run that would go on for ever, and it still compares.
func TestInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		out := &watchedOutput{pattern: workingLine, found: cancel}
		var stderr bytes.Buffer
		if status := command(ctx, []string{"-for", "0"}, out, &stderr); status != 0 {
			t.Errorf("status %d, stderr %q", status, stderr.String())
		}
		if !equalLine.MatchString(out.String()) {
			t.Errorf("no summary in\n%s", out.String())
		}
	})
}

// TestTooShort ends before the list is there.
func TestTooShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stdout, stderr bytes.Buffer
		if status := command(t.Context(), []string{"-for", "100ms"}, &stdout, &stderr); status != 1 {
			t.Errorf("status %d, want 1", status)
		}
		if !strings.Contains(stderr.String(), "too short") || strings.Contains(stdout.String(), "comparing") {
			t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
		}
	})
}

// TestStdoutGone checks that the quickstart ends when its output is closed.
func TestStdoutGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stderr bytes.Buffer
		if status := command(t.Context(), []string{"-for", "0"}, goneOutput{}, &stderr); status != 1 {
			t.Errorf("status %d, want 1", status)
		}
		if !strings.Contains(stderr.String(), errGone.Error()) {
			t.Errorf("stderr %q", stderr.String())
		}
	})
}

type goneOutput struct{}

var errGone = errors.New("nobody listens")

func (goneOutput) Write([]byte) (int, error) { return 0, errGone }

// watchedOutput is a buffer that calls found once what was written matches pattern.
type watchedOutput struct {
	pattern *regexp.Regexp
	found   func()

	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *watchedOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf.Write(p)
	if o.pattern.Match(o.buf.Bytes()) {
		o.found()
	}
	return len(p), nil
}

func (o *watchedOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// realCluster is an API server that is reached by sockets, as a real one is.
func realCluster(t *testing.T) (*fake.Server, string) {
	t.Helper()
	server, err := demo.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := demo.Populate(server, demo.Options{Pods: 100}); err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(server)
	// Close would wait for anything that the quickstart left open.
	t.Cleanup(h.Close)
	return server, h.URL
}

// until runs the command and interrupts it once its output matches pattern. If that never
// happens it ends late, and most likely with another result.
func until(t *testing.T, pattern string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &watchedOutput{pattern: regexp.MustCompile(pattern), found: cancel}
	var errOut bytes.Buffer
	status = command(ctx, append([]string{"-for", "20s"}, args...), out, &errOut)
	return status, out.String(), errOut.String()
}

func TestServerIsOnlyRead(t *testing.T) {
	t.Parallel()
	server, url := realCluster(t)
	before := server.ResourceVersion()
	status, stdout, stderr := until(t, workingLine.String(), "-server", url)
	equal := equalLine.FindStringSubmatch(stdout)
	if status != 0 || equal == nil || equal[1] != "100" || equal[3] != "in memory" {
		t.Errorf("status %d, stderr %q, stdout\n%s", status, stderr, stdout)
	}
	if got := server.ResourceVersion(); got != before {
		t.Errorf("the cluster was written to: resourceVersion %s, then %s", before, got)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	server, url := realCluster(t)
	status, stdout, stderr := until(t, workingLine.String(), "-server", url, "-write", "prod")
	equal := equalLine.FindStringSubmatch(stdout)
	if status != 0 || equal == nil || equal[3] != "in namespace prod" {
		t.Errorf("status %d, stderr %q, stdout\n%s", status, stderr, stdout)
	}
	summaries, err := fake.List[*corev1.ConfigMap](server, fake.Selection{Namespace: "prod"})
	if err != nil || len(summaries) < 15 || fmt.Sprint(len(summaries)) != equal[2] {
		t.Errorf("%d summaries on the server, %v, and %s were counted", len(summaries), err, equal[2])
	}
}

// TestCannotWrite: pods are there, but the summaries are refused.
func TestCannotWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, cl := testCluster(t)
		mustCreate(t, server, newTestPod("a", "n1", corev1.PodRunning))
		err := server.Inject(faults.Fault{Verb: faults.VerbCreate, Times: -1,
			Status: faults.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, 0)})
		if err != nil {
			t.Fatal(err)
		}
		var stdout bytes.Buffer
		err = work(t.Context(), cl, &journal{start: time.Now()}, options{runFor: 3 * time.Second}, &stdout)
		if !errors.Is(err, errDiffer) || !apierrors.IsForbidden(err) {
			t.Errorf("got %v, want errDiffer and what was forbidden", err)
		}
		for _, want := range []string{"create configmaps", "cache ≠ server: 1 pods", "node n1: has no summary"} {
			if !strings.Contains(stdout.String(), want) {
				t.Errorf("%q is not in\n%s", want, stdout.String())
			}
		}
	})
}

const configText = `
apiVersion: v1
kind: Config
clusters:
- {name: up, cluster: {server: "%s/prefix", certificate-authority-data: "%s"}}
- {name: down, cluster: {server: "http://127.0.0.1:1"}}
users:
- {name: me, user: {token: secret}}
contexts:
- {name: up, context: {cluster: up, user: me}}
- {name: down, context: {cluster: down, user: me}}
current-context: down
`

func TestKubeconfig(t *testing.T) {
	server, err := demo.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := demo.Populate(server, demo.Options{Pods: 30}); err != nil {
		t.Fatal(err)
	}
	// Over plain HTTP the token would not be sent.
	h := httptest.NewTLSServer(http.StripPrefix("/prefix", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		server.ServeHTTP(w, r)
	})))
	t.Cleanup(h.Close)
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw}))
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, fmt.Appendf(nil, configText, h.URL, ca), 0o600); err != nil {
		t.Fatal(err)
	}

	status, stdout, stderr := until(t, workingLine.String(), "-kubeconfig", path, "-context", "up")
	if equal := equalLine.FindStringSubmatch(stdout); status != 0 || equal == nil || equal[1] != "30" {
		t.Errorf("status %d, stderr %q, stdout\n%s", status, stderr, stdout)
	}
	t.Setenv("KUBECONFIG", path)
	status, stdout, stderr = until(t, workingLine.String(), "-context", "up")
	if status != 0 || !equalLine.MatchString(stdout) {
		t.Errorf("status %d, stderr %q, stdout\n%s", status, stderr, stdout)
	}
	status, stdout, stderr = until(t, "refused", "-kubeconfig", path)
	if status != 1 || !strings.Contains(stderr, "refused") || !strings.Contains(stdout, "127.0.0.1:1") {
		t.Errorf("current context: status %d, stderr %q, stdout\n%s", status, stderr, stdout)
	}
	for _, args := range [][]string{{"-kubeconfig", path + "x"}, {"-context", "nowhere"}} {
		status, _, stderr = until(t, "never", args...)
		if status != 1 || !strings.Contains(stderr, args[1]) {
			t.Errorf("%q: status %d, stderr %q", args, status, stderr)
		}
	}
}

// TestBadServers: an error is shown while the quickstart runs, and is the reason given at
// the end.
func TestBadServers(t *testing.T) {
	t.Parallel()
	forbidden, url := realCluster(t)
	for _, verb := range []faults.Verb{faults.VerbList, faults.VerbWatch} {
		err := forbidden.Inject(faults.Fault{Verb: verb, Resource: schema.GroupResource{Resource: "pods"}, Times: -1,
			Status: faults.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, 0)})
		if err != nil {
			t.Fatal(err)
		}
	}
	html := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html><body>Log in</body></html>")
	}))
	t.Cleanup(html.Close)
	missing := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(missing.Close)
	for name, tt := range map[string]struct{ url, want string }{
		"nobody there":   {"http://127.0.0.1:1", "connection refused"},
		"forbidden":      {url, "(?i)forbidden"},
		"a login page":   {html.URL, "not an answer of the Kubernetes API"},
		"a plain 404":    {missing.URL, "(?i)not.*f(ind|ound)"},
		"no URL at all":  {"http://", ""},
		"a URL of space": {"http://a b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, stdout, stderr := until(t, "again in .*: .*"+tt.want, "-server", tt.url)
			if status != 1 || !regexp.MustCompile(tt.want).MatchString(stderr) {
				t.Errorf("status %d, stderr %q, want %q; stdout\n%s", status, stderr, tt.want, stdout)
			}
			if strings.Contains(stdout, "comparing") {
				t.Errorf("compared nothing:\n%s", stdout)
			}
		})
	}
}
