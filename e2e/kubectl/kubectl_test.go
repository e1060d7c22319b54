//go:build e2e

package kubectl

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/with/kubernetes/apps"
	"github.com/kinform/kinform/with/kubernetes/core"
)

var update = flag.Bool("update", false, "write what kubectl says into the file; read it afterwards")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newServer serves what a command line is likely to ask for. Its clock stands still.
func newServer(t *testing.T) *fake.Server {
	t.Helper()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := fake.New(fake.Options{KeepNamespaces: true, CollectGarbage: true, Now: func() time.Time { return now }})
	for _, err := range []error{
		fake.Register(s, core.Namespaces, fake.Rules{}),
		fake.Register(s, core.ConfigMaps, fake.Rules{}),
		fake.Register(s, core.Events, fake.Rules{}),
		fake.Register(s, core.Pods, fake.Rules{}),
		fake.Register(s, apps.Deployments, fake.Rules{}),
		fake.Register(s, kind.Of[*unstructured.Unstructured](schema.GroupVersion{Group: "example.com", Version: "v1"}, "widgets").Named("Widget").WithSubresources("status").WithShortNames("wd"), fake.Rules{}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	// kubectl describe selects the events of an object.
	for name, get := range map[string]func(*corev1.Event) string{
		"involvedObject.kind":      func(e *corev1.Event) string { return e.InvolvedObject.Kind },
		"involvedObject.name":      func(e *corev1.Event) string { return e.InvolvedObject.Name },
		"involvedObject.namespace": func(e *corev1.Event) string { return e.InvolvedObject.Namespace },
		"involvedObject.uid":       func(e *corev1.Event) string { return string(e.InvolvedObject.UID) },
	} {
		if err := fake.AddField(s, name, get); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// program is kubectl with what all its calls have in common.
type program struct{ path, url, home string }

func start(t *testing.T, s *fake.Server) program {
	t.Helper()
	if os.Getenv(cluster.Variable) != "1" {
		t.Skipf("needs kubectl: set %s=1 to build it", cluster.Variable)
	}
	path, err := cluster.Kubectl(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	return program{path, web.URL, t.TempDir()}
}

func (p program) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.path, append([]string{"--server=" + p.url, "--namespace=a"}, args...)...)
	cmd.Env = []string{"HOME=" + p.home, "KUBECONFIG=" + filepath.Join(p.home, "none"), "PATH=" + os.Getenv("PATH"), "TZ=UTC"}
	return cmd
}

// step is a command of the file, with its input and its output.
type step struct {
	args, want string
	input      []string
}

// readSteps parses the file: "$ " begins a command, "< " a line of its input. The other lines are
// its output with the errors, and its exit code unless that is 0.
func readSteps(t *testing.T, file string) (steps []step) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		args, command := strings.CutPrefix(line, "$ ")
		input, reads := strings.CutPrefix(line, "< ")
		switch last := len(steps) - 1; {
		case command:
			steps = append(steps, step{args: strings.TrimSuffix(args, "\n")})
		case last < 0:
			t.Fatalf("%s begins with %q", file, line)
		case reads:
			steps[last].input = append(steps[last].input, input)
		default:
			steps[last].want += line
		}
	}
	return steps
}

// words splits a command line at its spaces, but for those between single quotes.
func words(line string) (out []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}

func (p program) run(t *testing.T, s step) string {
	t.Helper()
	cmd := p.command(t.Context(), words(s.args)...)
	cmd.Stdin = strings.NewReader(strings.Join(s.input, ""))
	out, err := cmd.CombinedOutput()
	if len(out) > 0 && !bytes.HasSuffix(out, []byte("\n")) {
		out = append(out, '\n')
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		out = fmt.Appendf(out, "exit %d\n", exit.ExitCode())
	case err != nil:
		t.Fatal(err)
	}
	return string(out)
}

func TestKubectl(t *testing.T) {
	const file = "testdata/kubectl.txt"
	p := start(t, newServer(t))
	var now strings.Builder
	for _, s := range readSteps(t, file) {
		got := p.run(t, s)
		if d := cmp.Diff(s.want, got); d != "" && !*update {
			t.Errorf("kubectl %s: -file +got:\n%s", s.args, d)
		}
		fmt.Fprintf(&now, "$ %s\n", s.args)
		for _, line := range s.input {
			now.WriteString("< " + line)
		}
		now.WriteString(got)
	}
	if *update {
		if err := os.WriteFile(file, []byte(now.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWatch reads what kubectl get --watch prints while objects change.
func TestWatch(t *testing.T) {
	s := newServer(t)
	p := start(t, s)
	if _, err := fake.Create(s, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "web"}
	if _, err := fake.Create(s, fake.Object(&corev1.ConfigMap{}, "a", "one", fake.Labels("app", "web"))); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := p.command(ctx, "get", "cm", "-l", "app=web", "--watch", "--output-watch-events", "--no-headers", "-o", "custom-columns=T:.type,N:.object.metadata.name,D:.object.data")
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it was killed
	}()
	lines := bufio.NewScanner(pipe)
	expect := func(want string) {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("kubectl ended instead of printing %q: %v", want, lines.Err())
		}
		if got := strings.Join(strings.Fields(lines.Text()), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	expect("ADDED one <none>")
	two := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "two", Labels: labels}, Data: map[string]string{"k": "v"}}
	if _, err := fake.Create(s, two); err != nil {
		t.Fatal(err)
	}
	expect("ADDED two map[k:v]")
	one := types.NamespacedName{Namespace: "a", Name: "one"}
	if _, err := fake.Patch[*corev1.ConfigMap](s, one, []byte(`{"data":{"k":"w"}}`)); err != nil {
		t.Fatal(err)
	}
	expect("MODIFIED one map[k:w]")
	if _, err := fake.Patch[*corev1.ConfigMap](s, one, []byte(`{"metadata":{"labels":null}}`)); err != nil {
		t.Fatal(err)
	}
	expect("DELETED one map[k:w]")
}
