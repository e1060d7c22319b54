package fake_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinform/kinform/fake"
)

// podPerDeployment is a reconciler that keeps one pod for every deployment.
type podPerDeployment struct{ client.Client }

func (r podPerDeployment) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var d appsv1.Deployment
	if err := r.Get(ctx, req.NamespacedName, &d); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	p := pod(req.Namespace, req.Name)
	if err := ctrl.SetControllerReference(&d, p, r.Scheme()); err != nil {
		return reconcile.Result{}, err
	}
	if err := r.Create(ctx, p); err != nil && !apierrors.IsAlreadyExists(err) {
		return reconcile.Result{}, err
	}
	if d.Status.Replicas != 1 {
		d.Status.Replicas = 1
		return reconcile.Result{}, r.Status().Update(ctx, &d)
	}
	return reconcile.Result{}, nil
}

// TestManager runs a manager of controller-runtime: its cache, typed and not, its client
// and a controller that owns pods.
func TestManager(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	everywhere(t, func(t *testing.T, s *fake.Server, c *rest.Config) {
		anyName := true
		mgr := must(manager.New(c, manager.Options{
			Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard(),
			Controller: config.Controller{SkipNameValidation: &anyName},
		}))(t)
		check(t, builder.ControllerManagedBy(mgr).For(&appsv1.Deployment{}).Owns(&corev1.Pod{}).Complete(podPerDeployment{mgr.GetClient()}))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- mgr.Start(ctx) }()
		defer func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}()
		for i := range 5 {
			must(fake.Create(s, fake.Object(&appsv1.Deployment{}, "prod", fmt.Sprintf("d%d", i))))(t)
		}
		eventually(t, "five pods and statuses", func() bool { return settled(t, s, 5) })
		must(fake.Delete[*corev1.Pod](s, types.NamespacedName{Namespace: "prod", Name: "d3"}))(t)
		s.DropWatches()
		eventually(t, "the deleted pod again", func() bool { return settled(t, s, 5) })

		w := &unstructured.Unstructured{}
		w.SetAPIVersion("example.com/v1")
		w.SetKind("Widget")
		fake.Object(w, "prod", "w")
		check(t, mgr.GetClient().Create(ctx, w))
		eventually(t, "the widget in the cache", func() bool {
			list := &unstructured.UnstructuredList{}
			list.SetAPIVersion("example.com/v1")
			list.SetKind("WidgetList")
			check(t, mgr.GetCache().List(ctx, list))
			return len(list.Items) == 1
		})
		meta := &metav1.PartialObjectMetadataList{}
		meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
		check(t, mgr.GetCache().List(ctx, meta, client.InNamespace("prod"), client.MatchingLabels{"app": "web"}))
		if len(meta.Items) != 5 {
			t.Errorf("%d pods by their metadata", len(meta.Items))
		}
	})
}

// settled reports whether every deployment has its pod and says so.
func settled(t *testing.T, s *fake.Server, n int) bool {
	pods := must(fake.List[*corev1.Pod](s, fake.Selection{}))(t)
	for _, d := range must(fake.List[*appsv1.Deployment](s, fake.Selection{}))(t) {
		if d.Status.Replicas != 1 {
			return false
		}
	}
	return len(pods) == n
}
