package twins

import (
	"context"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/clientgo"
	"github.com/kinform/kinform/with/controllerruntime"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// podCounter writes the number of a node's pods into its annotation. It reads them by a field
// index, as objects, as metadata and untyped: three informers.
type podCounter struct {
	client.Client
	cache client.Reader
}

func (c podCounter) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var node corev1.Node
	if err := c.Get(ctx, req.NamespacedName, &node); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var pods corev1.PodList
	about := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	untyped := unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "PodList"}}
	if err := c.List(ctx, &pods, client.MatchingFields{"node": req.Name}); err != nil {
		return ctrl.Result{}, err
	}
	for _, list := range []client.ObjectList{&about, &untyped} {
		if err := c.cache.List(ctx, list); err != nil {
			return ctrl.Result{}, err
		}
	}
	count := strconv.Itoa(len(pods.Items)) + "/" + strconv.Itoa(len(about.Items)) + "/" + strconv.Itoa(len(untyped.Items))
	if node.Annotations["pods"] == count {
		return ctrl.Result{}, nil
	}
	before := node.DeepCopy()
	node.Annotations = map[string]string{"pods": count}
	return ctrl.Result{}, client.IgnoreNotFound(c.Patch(ctx, &node, client.MergeFrom(before)))
}

// TestOneLine: a program of controller-runtime works on Kinform's informers by one line.
func TestOneLine(t *testing.T) {
	testOneLine(t, func(config *rest.Config) (ctrl.Manager, error) {
		m, err := ctrl.NewManager(config, ctrl.Options{Cache: cache.Options{NewInformer: clientgo.NewSharedIndexInformer}})
		return m, err
	})
}

// TestNewCache: the same program works on Kinform's cache.
func TestNewCache(t *testing.T) {
	testOneLine(t, func(config *rest.Config) (ctrl.Manager, error) {
		m, err := ctrl.NewManager(config, ctrl.Options{NewCache: controllerruntime.NewCache})
		return m, err
	})
}

// testOneLine runs a program with a manager that newManager makes.
func testOneLine(t *testing.T, newManager func(*rest.Config) (ctrl.Manager, error)) {
	ctx, s := start(t, func(ctx context.Context, config *rest.Config) error {
		m, err := newManager(config)
		if err != nil {
			return err
		}
		nodeOf := func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }
		if err := m.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, "node", nodeOf); err != nil {
			return err
		}
		nodes := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: nodeOf(o)[0]}}}
		})
		err = ctrl.NewControllerManagedBy(m).Named("oneline").WithOptions(controller.Options{SkipNameValidation: new(true)}).For(&corev1.Node{}).Watches(&corev1.Pod{}, nodes).Complete(podCounter{m.GetClient(), m.GetCache()})
		if err != nil {
			return err
		}
		return m.Start(ctx)
	}, register(core.Nodes), register(core.Pods))
	_, err := fake.Create(s, fake.Object(&corev1.Node{}, "", "node-1"))
	check(t, err)
	for _, pod := range []string{"web-1", "web-2"} {
		_, err = fake.Create(s, fake.Object(&corev1.Pod{Spec: corev1.PodSpec{NodeName: "node-1"}}, "prod", pod))
		check(t, err)
	}
	_, err = fake.Create(s, fake.Object(&corev1.Pod{}, "prod", "pending"))
	check(t, err)
	for {
		await(ctx, t, s, "0", func(node *corev1.Node) bool { return node.Annotations["pods"] != "" })
		// Another event of a pod, for the informers that were behind.
		node, err := fake.Get[*corev1.Node](s, types.NamespacedName{Name: "node-1"})
		if check(t, err); err != nil || node.Annotations["pods"] == "2/3/3" {
			return
		}
		_, err = fake.Patch[*corev1.Pod](s, types.NamespacedName{Namespace: "prod", Name: "web-1"}, []byte(`{"metadata":{"labels":{"again":"`+node.ResourceVersion+`"}}}`))
		check(t, err)
	}
}

// An informer of client-go becomes one of Kinform.
func Example_sharedIndexInformer() {
	var listerWatcher toolscache.ListerWatcher
	var resync time.Duration
	var indexers toolscache.Indexers
	informer := clientgo.NewSharedIndexInformer(listerWatcher, &corev1.Pod{}, resync, indexers)
	informer.Run(nil)
}
