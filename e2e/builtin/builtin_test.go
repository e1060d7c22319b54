package builtin

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/with/kubernetes/all"
)

var record = flag.String("record", "", "write the discovery to this file instead of checking it")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// withoutTypes are the groups that every API server has and whose types are not in k8s.io/api.
var withoutTypes = []string{"apiextensions.k8s.io", "apiregistration.k8s.io"}

func TestKinds(t *testing.T) {
	if os.Getenv(cluster.Variable) != "1" {
		t.Skipf("needs a real server: set %s=1 to build it", cluster.Variable)
	}
	c, err := cluster.New(t.Context(), cluster.Options{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	groups := append(discovery(t, c, "/api"), discovery(t, c, "/apis")...)
	if *record != "" {
		data, err := json.MarshalIndent(groups, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(*record, append(data, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	served, got := map[string]*kind.Kind[any]{}, map[string]*kind.Kind[any]{}
	for _, g := range groups {
		if slices.Contains(withoutTypes, g.Name) {
			continue
		}
		for _, v := range g.Versions {
			for _, r := range v.Resources {
				k := described(g.Name, v.Version, r)
				served[k.GroupVersionResource().String()] = k
			}
		}
	}
	for _, k := range all.Kinds() {
		if err := k.Check(); err != nil {
			t.Error(err)
		}
		got[k.GroupVersionResource().String()] = k
	}
	if d := cmp.Diff(served, got); d != "" {
		t.Errorf("-served +kinds:\n%s", d)
	}
	t.Log(len(got), "kinds:", slices.Sorted(maps.Keys(got)))
}

// described returns what a Kind should say about a resource.
func described(group, version string, r apidiscoveryv2.APIResourceDiscovery) *kind.Kind[any] {
	k := &kind.Kind[any]{
		GroupVersionKind: schema.GroupVersionKind{Group: group, Version: version, Kind: r.ResponseKind.Kind},
		Resource:         r.Resource, Scope: kind.Namespaced, ShortNames: r.ShortNames, Categories: r.Categories,
	}
	if r.Scope == apidiscoveryv2.ScopeCluster {
		k.Scope = kind.ClusterScoped
	}
	for _, sub := range r.Subresources {
		k.Subresources = append(k.Subresources, sub.Subresource)
	}
	return k
}

// group is the part of an APIGroupDiscovery that says what is served.
type group struct {
	Name     string                               `json:"name"`
	Versions []apidiscoveryv2.APIVersionDiscovery `json:"versions"`
}

func discovery(t *testing.T, c *cluster.Cluster, path string) (groups []group) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	resp, err := c.HTTPClient().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var list apidiscoveryv2.APIGroupDiscoveryList
	if err := json.Unmarshal(data, &list); err != nil || list.Kind != "APIGroupDiscoveryList" {
		t.Fatal(err, fmt.Sprintf("%.200s", data))
	}
	for _, g := range list.Items {
		groups = append(groups, group{g.Name, g.Versions})
	}
	return groups
}
