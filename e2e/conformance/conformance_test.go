package conformance

import (
	"context"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/with/apiextensions/fakecrd"
	"github.com/kinform/kinform/with/kubernetes/fakekube"
)

var update = flag.Bool("update", false, "let the answers of the real server be those of the files; read them afterwards")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const differencesFile = "../../docs/fake-differences.md"

func scripts(t *testing.T) (files []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	return files
}

func nameOf(file string) string { return strings.TrimSuffix(filepath.Base(file), ".txt") }

func play(t *testing.T, srv server, s script) script {
	r := run{t: t, srv: srv, namespace: "conf-" + s.name, versions: map[string][]string{}, saved: map[string]map[string]any{}, showAll: s.name == "events"}
	client := oracle.Client{URL: srv.url, HTTP: srv.http}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}
	if _, err := oracle.Create(t.Context(), &client, oracle.Path("namespaces", "", ""), ns); err != nil {
		t.Fatal(err)
	}
	return r.play(s)
}

// TestFake compares the fake with what the real server answered. It runs in virtual time.
func TestFake(t *testing.T) {
	known := readDifferences(t)
	for _, file := range scripts(t) {
		t.Run(nameOf(file), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want := readScript(t, file, nameOf(file))
				got := play(t, newFake(t), want)
				for i, st := range want.steps {
					checkStep(t, known, want.name, st, got.steps[i].want)
				}
			})
		})
	}
	for key := range known {
		if !known[key].used {
			t.Errorf("docs/fake-differences.md: %q is no difference any more, or no request of a script", key)
		}
	}
}

func checkStep(t *testing.T, known map[string]*difference, name string, st step, got string) {
	key := name + ": " + st.text()
	d := known[key]
	switch {
	case got == st.want:
	case d == nil:
		t.Errorf("%s\nreal: %s\nfake: %s", st.text(), st.want, got)
	default:
		d.used = true
		if d.fake != escape(got) || d.real != escape(st.want) {
			t.Errorf("%s\nis said to differ as\nreal: %s\nfake: %s\nand differs as\nreal: %s\nfake: %s", st.text(), d.real, d.fake, st.want, got)
		}
	}
}

func newFake(t *testing.T) server {
	s, err := fakekube.New(fake.Options{KeepNamespaces: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		fake.Register(s, kind.Of[*unstructured.Unstructured](schema.GroupVersion{Group: "example.com", Version: "v1"}, "widgets").Named("Widget").WithSubresources("status"), fake.Rules{}),
		fakecrd.Serve(s),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return server{url: fake.URL, http: s.Client(), compact: func(context.Context) error { return s.Compact(s.ResourceVersion()) }}
}

// difference is a row of docs/fake-differences.md.
type difference struct {
	real, fake string
	used       bool
}

var row = regexp.MustCompile("^\\| `(.*)` \\| `(.*)` \\| `(.*)` \\| .+ \\|$")

// escape is how an answer stands in a table of Markdown.
func escape(s string) string { return strings.NewReplacer("|", `\|`, "`", "'").Replace(s) }

func readDifferences(t *testing.T) map[string]*difference {
	t.Helper()
	text, err := os.ReadFile(differencesFile)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*difference{}
	for line := range strings.Lines(string(text)) {
		if m := row.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			key := strings.ReplaceAll(m[1], `\|`, "|")
			if out[key] != nil {
				t.Errorf("docs/fake-differences.md has %q twice", key)
			}
			out[key] = &difference{real: m[2], fake: m[3]}
		}
	}
	return out
}

// TestReal compares a real server with the files, or writes them.
func TestReal(t *testing.T) {
	c := cluster.Start(t, cluster.Options{ExtraAPIServerArgs: []string{
		"--watch-cache-sizes=secrets#0",
		"--disable-admission-plugins=StorageObjectInUseProtection,TaintNodesByCondition", // the fake has no admission
	}})
	srv := server{url: c.URL(), http: c.HTTPClient()}
	client := oracle.Client{URL: srv.url, HTTP: srv.http}
	srv.compact = func(ctx context.Context) error {
		var list metav1.PartialObjectMetadataList
		if err := client.Do(ctx, http.MethodGet, "/api/v1/secrets?limit=1", nil, &list); err != nil {
			return err
		}
		return c.Compact(ctx, list.ResourceVersion)
	}
	defineWidgets(t, &client)
	for _, file := range scripts(t) {
		t.Run(nameOf(file), func(t *testing.T) {
			want := readScript(t, file, nameOf(file))
			got := play(t, srv, want)
			if *update {
				got.write(t, file)
				return
			}
			for i, st := range want.steps {
				if d := cmp.Diff(st.want, got.steps[i].want); d != "" {
					t.Errorf("%s: -file +server:\n%s", st.text(), d)
				}
			}
		})
	}
}

// defineWidgets makes a custom resource with a status, and waits until it is served.
func defineWidgets(t *testing.T, client *oracle.Client) {
	t.Helper()
	const crd = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},
		"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget","listKind":"WidgetList","singular":"widget"},
		"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
		"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, client.URL+"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", strings.NewReader(crd))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		err := client.Do(ctx, http.MethodPost, "/apis/example.com/v1/namespaces/default/widgets?dryRun=All",
			map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "probe"}}, nil)
		if err == nil {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("the custom resource is not served: %v", err)
		}
	}
}
