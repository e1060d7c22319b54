package informers_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/shard"
	"github.com/kinform/kinform/with/clientgo/informers"
	"github.com/kinform/kinform/with/clientgo/internal/stock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// isOurs fails the test if inf is client-go's.
func isOurs(t *testing.T, what string, inf cache.SharedIndexInformer) {
	t.Helper()
	if got := fmt.Sprintf("%T", stock.Untyped(inf)); got != "*clientgo.sharedInformer" {
		t.Errorf("the informer of %s is a %s", what, got)
	}
}

// TestAllGroups: the informer of every resource of every group and version is one of Kinform, for
// client-go's methods and for ForResource.
func TestAllGroups(t *testing.T) {
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	resources := 0
	each := func(of reflect.Value, visit func(name string, member reflect.Value)) {
		for i := range of.NumMethod() {
			if m := of.Type().Method(i); of.Method(i).Type().NumIn() == 0 && of.Method(i).Type().NumOut() == 1 {
				visit(m.Name, of.Method(i).Call(nil)[0])
			}
		}
	}
	groups := reflect.ValueOf(factory)
	for i := range groups.NumMethod() {
		name, method := groups.Type().Method(i).Name, groups.Method(i)
		if method.Type().NumIn() != 0 || method.Type().NumOut() != 1 || method.Type().Out(0).Name() != "Interface" {
			continue
		}
		each(method.Call(nil)[0].Elem(), func(version string, v reflect.Value) {
			each(v.Elem(), func(kind string, r reflect.Value) {
				inf := r.MethodByName("Informer").Call(nil)[0].Interface().(cache.SharedIndexInformer)
				isOurs(t, name+" "+version+" "+kind, inf)
				resources++
			})
		})
	}
	if resources < 60 {
		t.Errorf("%d resources were found", resources)
	}
}

func pod(namespace, name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
}

var (
	pods        = corev1.SchemeGroupVersion.WithResource("pods")
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

func TestForResource(t *testing.T) {
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	for _, resource := range []schema.GroupVersionResource{pods, deployments} {
		generic, err := factory.ForResource(resource)
		check(t, err)
		isOurs(t, resource.Resource, generic.Informer())
	}
	byName, err := factory.ForResource(pods)
	check(t, err)
	if stock.Untyped(byName.Informer()) != stock.Untyped(factory.Core().V1().Pods().Informer()) {
		t.Error("the resource has two informers")
	}
	check(t, byName.Informer().GetIndexer().Add(pod("prod", "one", nil)))
	if obj, err := byName.Lister().ByNamespace("prod").Get("one"); err != nil || obj.(*corev1.Pod).Name != "one" {
		t.Errorf("the lister has %v, %v", obj, err)
	}
	if _, err := factory.ForResource(pods.GroupResource().WithVersion("v7")); err == nil {
		t.Error("a resource that does not exist has an informer")
	}
}

// TestProgram: a program that uses a factory, with all options.
func TestProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clients := fake.NewClientset(
			pod("prod", "web", map[string]string{"app": "web"}), pod("prod", "db", nil), pod("test", "web", map[string]string{"app": "web"}),
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "key"}},
		)
		name, err := cache.NewInformerName("program")
		check(t, err)
		factory := informers.NewSharedInformerFactoryWithOptions(clients, 0,
			informers.WithNamespace("prod"),
			informers.WithTweakListOptions(func(opts *metav1.ListOptions) { opts.LabelSelector = "app=web" }),
			informers.WithTransform(func(obj any) (any, error) {
				obj.(metav1.Object).SetAnnotations(map[string]string{"seen": "yes"})
				return obj, nil
			}),
			informers.WithCustomResyncConfig(map[metav1.Object]time.Duration{&corev1.Pod{}: time.Minute}),
			informers.WithInformerName(name),
		)
		if factory.InformerName() != name {
			t.Error("the factory has lost its name")
		}
		typed := factory.Core().V1().Pods()
		added, resyncs := []string{}, 0
		reg, err := typed.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { added = append(added, obj.(*corev1.Pod).Namespace+"/"+obj.(*corev1.Pod).Name) },
			UpdateFunc: func(_, _ any) { resyncs++ },
		})
		check(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		factory.StartWithContext(ctx)
		check(t, factory.WaitForCacheSyncWithContext(ctx).AsError())
		if !cache.WaitFor(ctx, "", reg.HasSyncedChecker()) || !slices.Equal(added, []string{"prod/web"}) {
			t.Errorf("added %q", added)
		}
		found, err := typed.Lister().Pods("prod").List(labels.Everything())
		if err != nil || len(found) != 1 || found[0].Annotations["seen"] != "yes" {
			t.Errorf("the lister has %v, %v", found, err)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if resyncs < 3 || resyncs > 6 {
			t.Errorf("%d resyncs in five minutes", resyncs)
		}
		late := factory.InformerFor(&corev1.Secret{}, func(clients kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
			return coreinformers.NewSecretInformer(clients, "prod", resync, nil)
		})
		isOurs(t, "secrets", late)
		factory.Start(ctx.Done())
		if synced := factory.WaitForCacheSync(ctx.Done()); len(synced) != 2 || len(late.GetStore().List()) != 1 {
			t.Errorf("synced %v, %d secrets", synced, len(late.GetStore().List()))
		}
		cancel()
		factory.Shutdown()
		if !late.IsStopped() || !typed.Informer().IsStopped() {
			t.Error("an informer runs after Shutdown")
		}
	})
}

// An informer that the program made in its own way stays.
func TestForeignInformer(t *testing.T) {
	factory := informers.NewFilteredSharedInformerFactory(fake.NewClientset(), 0, "prod", nil)
	theirs := cache.NewSharedIndexInformer(nil, &corev1.Pod{}, 0, nil)
	_, err := theirs.AddEventHandler(cache.ResourceEventHandlerFuncs{})
	check(t, err)
	got := factory.InformerFor(&corev1.Pod{}, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer { return theirs })
	if got != theirs || factory.Core().V1().Pods().Lister() == nil {
		t.Errorf("the informer is %T", got)
	}
	if generic, err := factory.ForResource(pods); err != nil || generic.Informer() != theirs {
		t.Errorf("the informer of the resource is %v, %v", generic, err)
	}
}

// A factory has one shard of the objects, by its methods and by ForResource.
func TestShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []runtime.Object
		for i := range 20 {
			p := pod("prod", fmt.Sprint("p", i), nil)
			p.UID = types.UID(fmt.Sprint(i, " of a factory"))
			all = append(all, p, &corev1.Secret{ObjectMeta: p.ObjectMeta})
		}
		clients := fake.NewClientset(all...)
		ctx, cancel := context.WithCancel(t.Context())
		seen := map[string]int{}
		for n := range 2 {
			selector, err := shard.Even(n, 2)
			check(t, err)
			factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithShardSelector(selector))
			secrets, err := factory.ForResource(corev1.SchemeGroupVersion.WithResource("secrets"))
			check(t, err)
			pods := factory.Core().V1().Pods().Informer().GetStore()
			factory.StartWithContext(ctx)
			defer func() { cancel(); factory.Shutdown() }()
			check(t, factory.WaitForCacheSyncWithContext(ctx).AsError())
			if found, others := pods.ListKeys(), secrets.Informer().GetStore().ListKeys(); len(found) == 0 || len(found) != len(others) {
				t.Errorf("shard %d has %q and %q", n, found, others)
			}
			for _, key := range pods.ListKeys() {
				seen[key]++
			}
		}
		for _, n := range seen {
			if n != 1 || len(seen) != 20 {
				t.Fatalf("the shards have %v", seen)
			}
		}
		cancel()
	})
}
