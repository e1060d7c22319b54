package clusters_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/clusters"
	"github.com/kinform/kinform/examples/internal/stage"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// abroad leads to the ConfigMaps of another cluster. Here they are a resource of their own of the one server that is
// explored, in a group with the name of the cluster.
type abroad struct {
	cluster string
	next    http.RoundTripper
}

// RoundTrip translates the version of objects on the way there and on the way back.
func (a abroad) RoundTrip(r *http.Request) (*http.Response, error) {
	here, abroad := []byte(`"apiVersion":"v1"`), []byte(`"apiVersion":"`+a.cluster+`/v1"`)
	there := r.Clone(r.Context())
	there.URL.Path = strings.Replace(r.URL.Path, "/api/", "/apis/"+a.cluster+"/", 1)
	there.Header.Set("Accept", "application/json")
	if r.Body != nil {
		there.Body, there.ContentLength = translated(r.Body, here, abroad), -1
	}
	answer, err := a.next.RoundTrip(there)
	if err == nil {
		answer.Body = translated(answer.Body, abroad, here)
	}
	return answer, err
}

// translation replaces words in a body, line by line: a watch sends a line for each event.
type translation struct {
	io.Closer
	from     *bufio.Reader
	old, new []byte
	line     []byte // what is left of it
	err      error
}

func translated(body io.ReadCloser, old, new []byte) io.ReadCloser {
	return &translation{Closer: body, from: bufio.NewReader(body), old: old, new: new}
}

func (t *translation) Read(into []byte) (int, error) {
	if len(t.line) == 0 && t.err == nil {
		t.line, t.err = t.from.ReadBytes('\n')
		t.line = bytes.ReplaceAll(t.line, t.old, t.new)
	}
	if len(t.line) == 0 {
		return 0, t.err
	}
	n := copy(into, t.line)
	t.line = t.line[n:]
	return n, nil
}

// in is a step in a cluster.
func in(cluster string, do func(fake.Target) error) stage.Step {
	return func(s *fake.Server) error {
		return do(s.Resource(schema.GroupResource{Group: cluster, Resource: "configmaps"}))
	}
}

// has is the contents of a cluster.
func has(want map[string]string) func(fake.Target) error {
	return func(at fake.Target) error {
		all, err := fake.List[*corev1.ConfigMap](at, fake.Selection{})
		got := map[string]string{}
		for _, config := range all {
			got[config.Name] = config.Data["a"]
		}
		if err == nil && !maps.Equal(got, want) {
			err = fmt.Errorf("a cluster has %v, want %v", got, want)
		}
		return err
	}
}

// TestExplore looks for a schedule after which a cluster does not have what the hub has. Others change and delete copies.
func TestExplore(t *testing.T) {
	kindIn := func(cluster string) stage.Step {
		return stage.Kind(kinform.KindOf[*corev1.ConfigMap](schema.GroupVersion{Group: cluster, Version: "v1"}, "configmaps"))
	}
	created := func(cluster, name string, change ...func(metav1.Object)) stage.Step {
		obj := fake.Object(&corev1.ConfigMap{Data: map[string]string{"a": cluster}}, "prod", name, change...)
		return in(cluster, func(at fake.Target) error { _, err := fake.Create(at, obj); return err })
	}
	patched := func(cluster, name, merge string) stage.Step {
		return in(cluster, func(at fake.Target) error {
			_, err := fake.Patch[*corev1.ConfigMap](at, key(name), []byte(merge))
			return err
		})
	}
	deleted := func(cluster, name string) stage.Step {
		return in(cluster, func(at fake.Target) error { _, err := fake.Delete[*corev1.ConfigMap](at, key(name)); return err })
	}
	stage.Explore(t, 300, func() sim.Program {
		return sim.Program{
			Server: stage.Server(fake.Options{}, stage.Kind(core.ConfigMaps), kindIn("east"), kindIn("west")),
			Run: func(ctx context.Context, hub client.Connection) error {
				others := map[string]client.Connection{}
				for _, name := range []string{"east", "west"} {
					others[name] = client.Connection{URL: hub.URL, HTTP: &http.Client{Transport: abroad{name, hub.HTTP.Transport}}}
				}
				return clusters.Run(ctx, hub, others)
			},
			Users: stage.Users(
				created("", "one", marked), created("", "two", marked), created("east", "own"),
				patched("", "one", `{"data":{"a":"2"}}`),
				stage.IfThere(patched("east", "one", `{"data":{"a":"6"}}`)), stage.IfThere(deleted("west", "one")),
				deleted("", "two"), created("west", "two"), created("", "two", marked), deleted("west", "two"),
			),
			Finally: func(w *sim.World) error {
				return errors.Join(
					in("east", has(map[string]string{"one": "2", "two": "", "own": "east"}))(w.Server),
					in("west", has(map[string]string{"one": "2", "two": ""}))(w.Server),
				)
			},
		}
	})
}
