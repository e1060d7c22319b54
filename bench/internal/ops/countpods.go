package ops

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	ctrlhandler "sigs.k8s.io/controller-runtime/pkg/handler"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// The functions of this file start the controller of README.md with several workers, and count its calls: examples/readme,
// twins/clientgo and twins/readme have it as a user writes it. Each returns at once or when the caches are filled.

func countWithKinform(ctx context.Context, p Program, calls *atomic.Int64) error {
	server, err := client.NewConnection(p.URL, client.ConnectionOptions{})
	if err != nil {
		return err
	}
	nodes := kinform.Open(server, core.Nodes)
	pods := kinform.Open(server, core.Pods)
	podsOf := kinform.Index(pods, "node", func(pod *corev1.Pod) key { return key{Name: pod.Spec.NodeName} })
	c := controller.New("pod-count", func(ctx context.Context, of key) error {
		calls.Add(1)
		node, ok := nodes.Cached(of)
		count := strconv.Itoa(podsOf.Count(of))
		if !ok || node.Annotations[podsAnnotation] == count {
			return nil
		}
		_, err := nodes.Patch(ctx, of, types.MergePatchType, annotate(count), metav1.PatchOptions{})
		return controller.IgnoreNotFound(err)
	}, controller.Options[key]{Run: queue.RunOptions{Workers: p.Workers}})
	controller.For(c, nodes)
	controller.Watch(c, pods, podsOf.Values)
	for _, k := range p.more() {
		k.watch(server, c)
	}
	go func() { _ = c.Run(ctx) }()
	return c.Err()
}

func countWithClientGo(ctx context.Context, p Program, calls *atomic.Int64) error {
	server, err := kubernetes.NewForConfig(&rest.Config{Host: p.URL, QPS: -1})
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(server, 0)
	pods, nodes := factory.Core().V1().Pods(), factory.Core().V1().Nodes()
	nodeOf := func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil }
	if err := pods.Informer().AddIndexers(cache.Indexers{"node": nodeOf}); err != nil {
		return err
	}
	work := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	add := func(obj any) {
		switch obj := obj.(type) {
		case *corev1.Node:
			work.Add(obj.Name)
		case *corev1.Pod:
			work.Add(obj.Spec.NodeName)
		}
	}
	handle := cache.ResourceEventHandlerFuncs{AddFunc: add, DeleteFunc: add, UpdateFunc: func(old, obj any) { add(old); add(obj) }}
	_, err = pods.Informer().AddEventHandler(handle)
	_, failed := nodes.Informer().AddEventHandler(handle)
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	for _, k := range p.more() {
		inf, err := factory.ForResource(k.resource)
		if err != nil {
			return err
		}
		if _, err := inf.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{}); err != nil {
			return err
		}
	}
	reconcile := func(name string) error {
		calls.Add(1)
		node, err := nodes.Lister().Get(name)
		if err != nil {
			return err
		}
		found, err := pods.Informer().GetIndexer().IndexKeys("node", name)
		if err != nil {
			return err
		}
		count := strconv.Itoa(len(found))
		if node.Annotations[podsAnnotation] == count {
			return nil
		}
		_, err = server.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, annotate(count), metav1.PatchOptions{})
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	for range p.Workers {
		go func() {
			for {
				name, stopped := work.Get()
				if stopped {
					return
				}
				if err := reconcile(name); err == nil || apierrors.IsNotFound(err) {
					work.Forget(name)
				} else {
					work.AddRateLimited(name)
				}
				work.Done(name)
			}
		}()
	}
	return nil
}

func countWithControllerRuntime(ctx context.Context, p Program, calls *atomic.Int64) error {
	m, err := ctrl.NewManager(&rest.Config{Host: p.URL, QPS: -1}, ctrl.Options{Metrics: metrics.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	nodeOf := func(o ctrlclient.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }
	if err := m.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, "node", nodeOf); err != nil {
		return err
	}
	server := m.GetClient()
	count := reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		calls.Add(1)
		var node corev1.Node
		var pods corev1.PodList
		if err := server.Get(ctx, req.NamespacedName, &node); err != nil {
			return reconcile.Result{}, ctrlclient.IgnoreNotFound(err)
		}
		if err := server.List(ctx, &pods, ctrlclient.MatchingFields{"node": req.Name}); err != nil {
			return reconcile.Result{}, err
		}
		count := strconv.Itoa(len(pods.Items))
		if node.Annotations[podsAnnotation] == count {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, ctrlclient.IgnoreNotFound(server.Patch(ctx, &node, ctrlclient.RawPatch(types.MergePatchType, annotate(count))))
	})
	nodes := ctrlhandler.EnqueueRequestsFromMapFunc(func(_ context.Context, o ctrlclient.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: nodeOf(o)[0]}}}
	})
	c := ctrl.NewControllerManagedBy(m).WithOptions(ctrlcontroller.Options{MaxConcurrentReconciles: p.Workers}).For(&corev1.Node{}).Watches(&corev1.Pod{}, nodes)
	for _, k := range p.more() {
		c = c.Watches(k.object, ctrlhandler.Funcs{})
	}
	if err := c.Complete(count); err != nil {
		return err
	}
	go func() { _ = m.Start(ctx) }()
	return nil
}
