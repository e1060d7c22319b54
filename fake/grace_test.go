package fake_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// nodePod has the members of a pod that its deletion looks at.
type nodePod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		NodeName string `json:"nodeName,omitempty"`
	} `json:"spec"`
}

var nodePodKind = kind.Of[*nodePod](v1, "pods").Named("Pod")

// TestKubelets: a request leaves a pod of a node terminating, and somebody plays the kubelet.
func TestKubelets(t *testing.T) {
	for _, stop := range []bool{false, true} {
		s := fake.New(fake.Options{StopPods: stop})
		check(t, fake.Register(s, nodePodKind, fake.Rules{}))
		c := clientOf(t, s, nodePodKind, "a")
		p := &nodePod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}}
		p.Spec.NodeName = "n"
		must(fake.Create(s, p))(t)
		k := types.NamespacedName{Namespace: "a", Name: "p"}
		check(t, c.Delete(t.Context(), k, metav1.DeleteOptions{}))
		got, err := fake.Get[*nodePod](s, k)
		if stop {
			wantStatus(t, err, 404, metav1.StatusReasonNotFound)
			continue
		}
		check(t, err)
		if got.DeletionTimestamp == nil || *got.DeletionGracePeriodSeconds != 30 {
			t.Errorf("terminating since %v, %v", got.DeletionTimestamp, got.DeletionGracePeriodSeconds)
		}
		must(fake.Delete[*nodePod](s, k))(t)
		wantStatus(t, second(fake.Get[*nodePod](s, k)), 404, metav1.StatusReasonNotFound)
	}
}

// TestShorterGrace: a further deletion can only shorten the grace period, and not below a second if
// the shorter one is over. One that does not shorten it changes nothing.
func TestShorterGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fake.New(fake.Options{})
		check(t, fake.Register(s, nodePodKind, fake.Rules{}))
		c := clientOf(t, s, nodePodKind, "a")
		p := &nodePod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}}
		p.Spec.NodeName = "n"
		must(fake.Create(s, p))(t)
		foreground := metav1.DeletePropagationForeground
		for _, step := range []struct{ wait, asks, want, finalizers int64 }{{0, 30, 30, 0}, {1, 40, 30, 0}, {0, 20, 20, 1}, {10, 5, 1, 1}} {
			time.Sleep(time.Duration(step.wait) * time.Second)
			opts := metav1.DeleteOptions{GracePeriodSeconds: &step.asks}
			if step.wait > 0 || step.asks < 30 {
				opts.PropagationPolicy = &foreground
			}
			check(t, c.Delete(t.Context(), key("", "p"), opts))
			got := must(fake.Get[*nodePod](s, key("a", "p")))(t)
			if *got.DeletionGracePeriodSeconds != step.want || int64(len(got.Finalizers)) != step.finalizers || got.DeletionTimestamp.Time.Before(time.Now().Add(-time.Second)) {
				t.Errorf("%+v: %d s, until %v, %v", step, *got.DeletionGracePeriodSeconds, got.DeletionTimestamp, got.Finalizers)
			}
		}
	})
}

// TestPodsAreMarked: whichever way a pod is deleted, watches get a MODIFIED event first. A pod of a
// node stays until its kubelet ends it, and its namespace stays with it.
func TestPodsAreMarked(t *testing.T) {
	ends := map[string]func(*testing.T, *fake.Server){
		"function": func(t *testing.T, s *fake.Server) {
			must(fake.Delete[*nodePod](s, key("a", "free")))(t)
		},
		"garbage": func(t *testing.T, s *fake.Server) {
			must(fake.Delete[*metav1.PartialObjectMetadata](s, key("", "owner")))(t)
		},
		"namespace": func(t *testing.T, s *fake.Server) {
			must(fake.Delete[*widget](s, key("", "a")))(t)
			must(fake.Get[*widget](s, key("", "a")))(t) // the pod of the node is there
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := fake.New(fake.Options{CollectGarbage: true, KeepNamespaces: true})
				check(t, fake.Register(s, nodePodKind, fake.Rules{}))
				check(t, fake.Register(s, kind.Of[*widget](v1, "namespaces").Named("Namespace").Cluster(), fake.Rules{}))
				check(t, fake.Register(s, kind.Of[*metav1.PartialObjectMetadata](v1, "nodes").Named("Node").Cluster(), fake.Rules{}))
				must(fake.Create(s, &widget{ObjectMeta: metav1.ObjectMeta{Name: "a"}}))(t)
				owner := must(fake.Create(s, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}))(t)
				for pod, node := range map[string]string{"free": "", "held": "n"} {
					p := &nodePod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: pod}}
					p.Spec.NodeName = node
					p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "owner", UID: owner.UID}}
					must(fake.Create(s, p))(t)
				}
				from := metav1.ListOptions{ResourceVersion: s.ResourceVersion(), TimeoutSeconds: new(int64)}
				*from.TimeoutSeconds = 1
				end(t, s)
				if name != "function" {
					if p := must(fake.Get[*nodePod](s, key("a", "held")))(t); p.DeletionTimestamp == nil || *p.DeletionGracePeriodSeconds != 30 {
						t.Errorf("the pod of a node is left as %+v", p.ObjectMeta)
					}
				}
				must(fake.Delete[*nodePod](s, key("a", "held")))(t)
				events := map[string][]string{}
				for ev, err := range must(fake.NewSource[*nodePod](s, fake.Selection{}))(t).Watch(t.Context(), from) {
					check(t, err)
					events[ev.Object.Name] = append(events[ev.Object.Name], fmt.Sprint(ev.Type, " ", *ev.Object.DeletionGracePeriodSeconds))
				}
				want := map[string][]string{"free": {"MODIFIED 0", "DELETED 0"}, "held": {"MODIFIED 30", "MODIFIED 0", "DELETED 0"}}
				if name == "function" {
					want["held"] = want["free"]
				}
				if d := cmp.Diff(want, events); d != "" {
					t.Errorf("events (-want +got):\n%s", d)
				}
				if _, err := fake.Get[*widget](s, key("", "a")); (err == nil) == (name == "namespace") {
					t.Errorf("the namespace: %v", err)
				}
			})
		})
	}
}

// TestRemovalTakesTime: on a server with strategies, as the envtest program is, a pod that goes at once is there
// for a millisecond with its deletion mark, whoever deletes it. Another server takes no time, and neither does
// a dry run or another kind.
func TestRemovalTakesTime(t *testing.T) {
	const path = "/api/v1/namespaces/a/pods"
	strategies := func(schema.GroupVersionResource, schema.GroupVersionKind) *fake.Strategy { return nil }
	k := types.NamespacedName{Namespace: "a", Name: "p"}
	for name, remove := range map[string]func(t *testing.T, s *fake.Server){
		"request":    func(t *testing.T, s *fake.Server) { request(t, s, "DELETE", path+"/p", "", "") },
		"collection": func(t *testing.T, s *fake.Server) { request(t, s, "DELETE", path, "", "") },
		"client": func(t *testing.T, s *fake.Server) {
			c := clientOf(t, s, nodePodKind, "a")
			check(t, c.Delete(t.Context(), k, metav1.DeleteOptions{}))
		},
		"function": func(t *testing.T, s *fake.Server) { must(fake.Delete[*nodePod](s, k))(t) },
		"dry run":  func(t *testing.T, s *fake.Server) { request(t, s, "DELETE", path+"/p?dryRun=All", "", "") },
		"other":    func(t *testing.T, s *fake.Server) { request(t, s, "DELETE", "/api/v1/namespaces/a/notes/p", "", "") },
	} {
		for _, exact := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, exact %t", name, exact), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					opts := fake.Options{}
					if exact {
						opts.Strategy = strategies
					}
					s := fake.New(opts)
					check(t, fake.Register(s, nodePodKind, fake.Rules{}))
					check(t, fake.Register(s, kind.Of[*metav1.PartialObjectMetadata](v1, "notes").Named("Note"), fake.Rules{}))
					must(fake.Create(s, &nodePod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}}))(t)
					must(fake.Create(s, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}}))(t)
					began, took := time.Now(), time.Duration(0)
					ended := make(chan struct{})
					go func() {
						defer close(ended)
						remove(t, s)
						took = time.Since(began)
					}()
					synctest.Wait()
					marked, err := fake.Get[*nodePod](s, k)
					shows := err == nil && marked.DeletionTimestamp != nil
					<-ended
					want := time.Duration(0)
					if exact && name != "dry run" && name != "other" {
						want = time.Millisecond
					}
					if took != want || shows != (want > 0) {
						t.Errorf("took %v, want %v, the mark shows: %t", took, want, shows)
					}
					if _, err := fake.Get[*nodePod](s, k); (name == "dry run" || name == "other") != (err == nil) {
						t.Errorf("the pod afterwards: %v", err)
					}
				})
			})
		}
	}
}
