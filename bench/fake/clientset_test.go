package fake_test

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/fake/faults"
)

func TestClientset(t *testing.T) {
	everywhere(t, func(t *testing.T, s *fake.Server, c *rest.Config) {
		ctx := t.Context()
		pods := kubernetes.NewForConfigOrDie(c).CoreV1().Pods("prod")
		made := must(pods.Create(ctx, pod("prod", "web-0"), metav1.CreateOptions{}))(t)
		if made.UID == "" || made.ResourceVersion != "2" || made.Spec.Containers[0].Image != "registry/web:1" {
			t.Errorf("created %+v", made)
		}
		if _, err := pods.Create(ctx, pod("prod", "web-0"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
			t.Errorf("a second create: %v", err)
		}
		stale := made.DeepCopy()
		made.Labels["tier"] = "front"
		made = must(pods.Update(ctx, made, metav1.UpdateOptions{}))(t)
		if made.Labels["tier"] != "front" {
			t.Errorf("updated: %v", made.Labels)
		}
		if _, err := pods.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("a stale update: %v", err)
		}
		merge := []byte(`{"metadata":{"labels":{"tier":null,"app":"api"}}}`)
		made = must(pods.Patch(ctx, "web-0", types.MergePatchType, merge, metav1.PatchOptions{}))(t)
		got := must(pods.Get(ctx, "web-0", metav1.GetOptions{}))(t)
		if fmt.Sprint(got.Labels) != "map[app:api]" || got.ResourceVersion != made.ResourceVersion || got.Generation != 1 {
			t.Errorf("patched: %v at %s, generation %d", got.Labels, got.ResourceVersion, got.Generation)
		}
		list := must(pods.List(ctx, metav1.ListOptions{LabelSelector: "app=api", FieldSelector: "metadata.name=web-0"}))(t)
		if len(list.Items) != 1 || list.Items[0].UID != made.UID || list.ResourceVersion != s.ResourceVersion() {
			t.Errorf("listed %d at %s", len(list.Items), list.ResourceVersion)
		}
		wrong := types.UID("wrong")
		if err := pods.Delete(ctx, "web-0", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}}); !apierrors.IsConflict(err) {
			t.Errorf("delete of another uid: %v", err)
		}
		check(t, pods.Delete(ctx, "web-0", *metav1.NewDeleteOptions(0)))
		if _, err := pods.Get(ctx, "web-0", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("after the delete: %v", err)
		}
	})
}

func TestClientsetWatch(t *testing.T) {
	everywhere(t, func(t *testing.T, s *fake.Server, c *rest.Config) {
		ctx := t.Context()
		start := s.ResourceVersion()
		must(fake.Create(s, pod("a", "p")))(t)
		must(fake.Patch[*corev1.Pod](s, types.NamespacedName{Namespace: "a", Name: "p"}, []byte(`{"spec":{"nodeName":"n2"}}`)))(t)
		must(fake.Delete[*corev1.Pod](s, types.NamespacedName{Namespace: "a", Name: "p"}))(t)
		w := must(kubernetes.NewForConfigOrDie(c).CoreV1().Pods("").Watch(ctx, metav1.ListOptions{ResourceVersion: start}))(t)
		defer w.Stop()
		for i, want := range []struct {
			typ      watch.EventType
			rv, node string
		}{{watch.Added, "2", "n1"}, {watch.Modified, "3", "n2"}, {watch.Modified, "4", "n2"}, {watch.Deleted, "5", "n2"}} {
			ev := <-w.ResultChan()
			p, ok := ev.Object.(*corev1.Pod)
			if !ok || ev.Type != want.typ || p.ResourceVersion != want.rv || p.Spec.NodeName != want.node {
				t.Fatalf("event %d: %s %+v, want %v", i, ev.Type, ev.Object, want)
			}
		}
		w.Stop()
		check(t, s.Compact(s.ResourceVersion()))
		w = must(kubernetes.NewForConfigOrDie(c).CoreV1().Pods("").Watch(ctx, metav1.ListOptions{ResourceVersion: start}))(t)
		defer w.Stop()
		if ev := <-w.ResultChan(); ev.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(ev.Object)) {
			t.Errorf("after a compaction: %s %+v", ev.Type, ev.Object)
		}
	})
}

// TestPager lets client-go's pager walk a list of which a page expires.
func TestPager(t *testing.T) {
	everywhere(t, func(t *testing.T, s *fake.Server, c *rest.Config) {
		for i := range 25 {
			must(fake.Create(s, pod("a", fmt.Sprintf("p%02d", i))))(t)
		}
		pods := kubernetes.NewForConfigOrDie(c).CoreV1().Pods("a")
		calls := 0
		p := pager.New(pager.SimplePageFunc(func(opts metav1.ListOptions) (runtime.Object, error) {
			if calls++; calls == 2 {
				must(fake.Create(s, pod("a", "p99")))(t)
				check(t, s.Compact(s.ResourceVersion()))
			}
			return pods.List(t.Context(), opts)
		}))
		p.PageSize = 10
		// After the 410 the pager starts again, without a limit.
		list, _, err := p.List(t.Context(), metav1.ListOptions{})
		check(t, err)
		if n := meta.LenList(list); n != 26 || calls != 3 {
			t.Errorf("%d objects in %d calls", n, calls)
		}
	})
}

// TestInformers runs client-go's shared informers through faults: they must come to hold
// what the server holds.
func TestInformers(t *testing.T) {
	everywhere(t, func(t *testing.T, s *fake.Server, c *rest.Config) {
		factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(c), 0)
		inf := factory.Core().V1().Pods()
		var seen faketest.Histories[string, *corev1.Pod]
		reg := must(inf.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { p := obj.(*corev1.Pod); seen.Added(p.Name, p) },
			UpdateFunc: func(old, obj any) { p := obj.(*corev1.Pod); seen.Updated(p.Name, old.(*corev1.Pod), p) },
			DeleteFunc: func(obj any) {
				p, ok := obj.(*corev1.Pod)
				if !ok {
					p = obj.(cache.DeletedFinalStateUnknown).Obj.(*corev1.Pod)
				}
				seen.Deleted(p.Name, p)
			},
		}))(t)
		for i := range 10 {
			must(fake.Create(s, pod("a", fmt.Sprintf("p%d", i))))(t)
		}
		check(t, s.Inject(faults.Fault{Verb: faults.VerbWatch, CutEvents: 3}))
		factory.StartWithContext(t.Context())
		t.Cleanup(factory.Shutdown)
		if !cache.WaitForCacheSync(t.Context().Done(), reg.HasSynced) {
			t.Fatal("no sync")
		}
		for i := range 10 {
			key := types.NamespacedName{Namespace: "a", Name: fmt.Sprintf("p%d", i)}
			if i%3 == 0 {
				must(fake.Delete[*corev1.Pod](s, key))(t)
			} else {
				must(fake.Patch[*corev1.Pod](s, key, []byte(`{"status":{"phase":"Running"}}`)))(t)
			}
		}
		s.DropWatches()
		must(fake.Create(s, pod("a", "last")))(t)
		eventually(t, "the last pod in the handler", func() bool {
			for name := range seen.Live() {
				if name == "last" {
					return true
				}
			}
			return false
		})
		check(t, seen.Err())
		var cached []*corev1.Pod
		for _, p := range must(inf.Lister().List(everything()))(t) {
			p = p.DeepCopy()
			p.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"} // which client-go leaves out
			cached = append(cached, p)
		}
		if d := must(faketest.Diff(s, fake.Selection{}, values(cached)))(t); d != "" {
			t.Error(d)
		}
	})
}

func TestForbiddenAndBusy(t *testing.T) {
	everywhere(t, func(t *testing.T, s *fake.Server, c *rest.Config) {
		pods := kubernetes.NewForConfigOrDie(c).CoreV1().Pods("a")
		check(t, s.Inject(faults.Fault{Verb: faults.VerbGet, Status: faults.Refusal(403, metav1.StatusReasonForbidden, 0)}))
		if _, err := pods.Get(t.Context(), "p", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("refused with %v", err)
		}
		// client-go itself waits for Retry-After and asks again.
		check(t, s.Inject(faults.Fault{Verb: faults.VerbGet, Status: faults.Refusal(429, metav1.StatusReasonTooManyRequests, 1)}))
		if _, err := pods.Get(t.Context(), "p", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("after a 429: %v", err)
		}
		check(t, s.Inject(faults.Fault{Verb: faults.VerbList, CutBytes: 20}))
		must(fake.Create(s, pod("a", "p")))(t)
		var status *apierrors.StatusError
		if _, err := pods.List(t.Context(), metav1.ListOptions{}); err == nil || errors.As(err, &status) {
			t.Errorf("a broken list: %v", err)
		}
	})
}
