package fake_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

func fixtureServer(t testing.TB, opts fake.Options) *fake.Server {
	t.Helper()
	s := fake.New(opts)
	check(t, fake.Register(s, kind.Of[*pod](v1, "pods").WithSubresources("status"), fake.Rules{}))
	check(t, fake.Register(s, kind.Of[*widget](exampleV1, "widgets"), fake.Rules{}))
	check(t, fake.Register(s, kind.Of[*metav1.PartialObjectMetadata](v1, "namespaces").Named("Namespace").Cluster(), fake.Rules{}))
	return s
}

func TestLoad(t *testing.T) {
	s := newServer(t, fake.Options{})
	check(t, s.Load(os.DirFS("testdata"), "manifests"))
	p := must(fake.Get[*pod](s, key("default", "web-0")))(t)
	if p.Spec.Node != "n1" || len(p.Spec.Ports) != 2 || p.Labels["app"] != "web" || p.Status.Phase != "Running" {
		t.Errorf("loaded %+v", p)
	}
	if p.ResourceVersion == "77" || p.UID == "from-elsewhere" || p.UID == "" {
		t.Errorf("what only the server knows: %s, %s", p.ResourceVersion, p.UID)
	}
	must(fake.Get[*pod](s, key("prod", "web-1")))(t)
	if w := must(fake.Get[*widget](s, key("prod", "w")))(t); w.Size != 1152921504606846977 {
		t.Errorf("size %d", w.Size)
	}
	if n := must(fake.List[*metav1.PartialObjectMetadata](s, fake.Selection{}))(t); len(n) != 1 || n[0].Namespace != "" {
		t.Errorf("nodes %v", n)
	}
	one := newServer(t, fake.Options{})
	check(t, one.Load(os.DirFS("testdata/manifests/more"), "widget.json"))
	if n := len(must(fake.List[*widget](one, fake.Selection{}))(t)); n != 1 {
		t.Errorf("one file: %d widgets", n)
	}
}

// TestLoadStatus keeps the status although it is a subresource, and creates the namespace
// first although it comes last.
func TestLoadStatus(t *testing.T) {
	s := fixtureServer(t, fake.Options{KeepNamespaces: true})
	check(t, s.LoadYAML("all", `
apiVersion: v1
kind: PodList
items:
- {apiVersion: v1, kind: Pod, metadata: {generateName: web-, namespace: prod}, status: {phase: Running}}
---
apiVersion: v1
kind: Namespace
metadata: {name: prod}
`))
	pods := must(fake.List[*pod](s, fake.Selection{Namespace: "prod"}))(t)
	if len(pods) != 1 || pods[0].Status.Phase != "Running" || !strings.HasPrefix(pods[0].Name, "web-") {
		t.Errorf("pods %+v", pods)
	}
}

// TestLoadOwners keeps together what a cluster printed, pods before what owns them, from the
// collector of garbage; what has no owner there is garbage.
func TestLoadOwners(t *testing.T) {
	s := fixtureServer(t, fake.Options{CollectGarbage: true})
	check(t, s.LoadYAML("all", `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Pod, metadata: {name: grandchild, ownerReferences: [{apiVersion: v1, kind: Pod, name: child, uid: u-2}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: child, uid: u-2, ownerReferences: [{apiVersion: example.com/v1, kind: Widget, name: owner, uid: u-1}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: alone, uid: u-3, ownerReferences: [{apiVersion: v1, kind: Pod, name: gone, uid: u-0}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: itself, uid: u-4, ownerReferences: [{apiVersion: v1, kind: Pod, name: itself, uid: u-4}]}}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: owner, uid: u-1}}
`))
	wantState(t, s, "child of owner", "grandchild of child")
	must(fake.Delete[*widget](s, key("default", "owner")))(t)
	wantState(t, s)
}

func TestLoadErrors(t *testing.T) {
	const good = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: a}\n"
	for name, c := range map[string]struct {
		text, want string
		is         error
	}{
		"indent":       {good + "---\na:\n\tb", "fake: f.yaml: document 2: invalid manifest: ", fake.ErrManifest},
		"no kind":      {"metadata: {name: p}", "fake: f.yaml: document 1: invalid manifest: no kind or no apiVersion", fake.ErrManifest},
		"a list":       {"- a\n- b", "fake: f.yaml: document 1: invalid manifest: json: cannot unmarshal array", fake.ErrManifest},
		"unknown kind": {"---\n" + good + "---\napiVersion: v2\nkind: Pod\n", "fake: f.yaml: document 2: invalid manifest: /v2, Kind=Pod: resource not registered: call fake.Register with its kind first", fake.ErrNotRegistered},
		"bad item":     {"apiVersion: v1\nkind: List\nitems: [{kind: Pod}]", "fake: f.yaml: document 1: invalid manifest: no kind or no apiVersion", fake.ErrManifest},
		"bad field":    {good + "spec: {ports: [many]}", "fake: f.yaml: document 1: invalid manifest: json: cannot unmarshal string", fake.ErrManifest},
	} {
		err := newServer(t, fake.Options{}).Load(fstest.MapFS{"f.yaml": {Data: []byte(c.text)}}, ".")
		if !errors.Is(err, c.is) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	s := newServer(t, fake.Options{})
	if err := s.LoadYAML("twice", good+"---\n"+good); !apierrors.IsAlreadyExists(err) || !strings.Contains(err.Error(), "twice: document 2") {
		t.Errorf("a refusal: %v", err)
	}
	if err := s.Load(os.DirFS("testdata"), "nowhere"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	if err := s.Load(fstest.MapFS{"a.txt": {Data: []byte("x")}}, "."); err != nil {
		t.Errorf("a folder without manifests: %v", err)
	}
}

// FuzzLoad checks that no text panics, and that what was not refused can be read.
func FuzzLoad(f *testing.F) {
	f.Add(string(must(os.ReadFile("testdata/manifests/pods.yaml"))(f)))
	f.Add("apiVersion: v1\nkind: List\nitems: [null, {}]")
	f.Add("apiVersion: v1\nkind: Pod\nmetadata: {name: a, deletionTimestamp: 1}\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		s := newServer(t, fake.Options{})
		if err := s.LoadYAML("fuzz", text); err == nil {
			must(fake.List[*pod](s, fake.Selection{}))(t)
		}
	})
}

// TestLoadFlowStyle loads YAML that begins as JSON does.
func TestLoadFlowStyle(t *testing.T) {
	s := newServer(t, fake.Options{})
	check(t, s.LoadYAML("flow.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: a}, spec: {node: one}}"))
	if p := must(fake.Get[*pod](s, key("a", "p")))(t); p.Spec.Node != "one" {
		t.Errorf("loaded %+v", p)
	}
}
