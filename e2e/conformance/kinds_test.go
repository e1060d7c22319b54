package conformance

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/fakekube"
)

// TestEveryKindHasAScript: of each kind of the preset, in each version, a script creates an object
// that a real server accepts.
func TestEveryKindHasAScript(t *testing.T) {
	created := map[string]bool{}
	for _, file := range scripts(t) {
		for _, st := range readScript(t, file, nameOf(file)).steps {
			if (st.verb == http.MethodPost || st.verb == "APPLY") && strings.HasPrefix(st.want, "201 ") {
				path, _, _ := strings.Cut(paths.Replace(st.target), "?")
				path = strings.TrimSuffix(path, "/")
				if st.verb == "APPLY" {
					path = path[:strings.LastIndexByte(path, '/')]
				}
				created[path] = true
			}
		}
	}
	server, err := fakekube.New(fake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := discovery.NewDiscoveryClientForConfigAndClient(&rest.Config{Host: fake.URL}, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	kinds := 0
	for _, list := range lists {
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") {
				continue
			}
			kinds++
			if path := pathOf(list.GroupVersion, r); !created[path] {
				t.Errorf("no script creates an object of %s: add it to testdata", path)
			}
		}
	}
	if kinds < 60 {
		t.Errorf("%d kinds", kinds)
	}
}

func pathOf(version string, r metav1.APIResource) string {
	path := "/apis/" + version + "/"
	if version == "v1" {
		path = "/api/v1/"
	}
	if r.Namespaced {
		path += "namespaces/NS/"
	}
	return path + r.Name
}
