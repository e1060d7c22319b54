package manager_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
)

// While the functions of indexes do not return, /readyz answers all the same: a cache that is not filled is a reason, and
// one that is filled is none yet. It is in real time, because no time passes in a bubble while a goroutine waits for a lock.
func TestReadyzOfBusyCaches(t *testing.T) {
	release, called := make(chan struct{}), make(chan struct{})
	hangs := index.By("hangs", func(g *gadget) string {
		if g.Name == "hangs" {
			called <- struct{}{}
			<-release
		}
		return g.Name
	})
	m := manager.New(manager.Options{})
	var servers []*fake.Server
	for range 2 {
		server, inf := setup(t)
		informer.AddIndex(inf, hangs)
		m.AddCaches(inf)
		servers = append(servers, server)
	}
	for _, server := range servers {
		if _, err := fake.Create(server, &gadget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "hangs"}}); err != nil {
			t.Fatal(err)
		}
	}
	end := begin(t, m)
	<-called
	<-called
	if got := get(m.Readyz()); strings.Count(got, "the function of an index may not return") != 2 {
		t.Errorf("of caches that are not filled: %s", got)
	}
	release <- struct{}{}
	release <- struct{}{}
	for get(m.Readyz()) != "200 ok" { // until they are filled
	}
	for _, server := range servers {
		if _, err := fake.Update(server, &gadget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "hangs", Labels: map[string]string{"new": "1"}}}); err != nil {
			t.Fatal(err)
		}
	}
	<-called
	<-called
	if got := get(m.Readyz()); got != "200 ok" {
		t.Errorf("of caches that are filled: %s", got)
	}
	close(release)
	if err := end(); err != nil {
		t.Error(err)
	}
}
