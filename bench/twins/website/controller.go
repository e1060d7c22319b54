// Package website is the twin of examples/website with controller-runtime: a CRD with a finalizer,
// a condition and an owned Deployment.
package website

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const finalizer = "example.com/dns"

var errTaken = errors.New("another owner has the Deployment of this name")

// DNS is outside the API server.
type DNS interface {
	Set(ctx context.Context, site *Website) error
	Remove(ctx context.Context, site *Website) error
}

type reconciler struct {
	client.Client
	dns DNS
}

// Reconcile works on one Website.
func (r reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var site Website
	if err := r.Get(ctx, req.NamespacedName, &site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if site.DeletionTimestamp != nil {
		if !controllerutil.ContainsFinalizer(&site, finalizer) {
			return ctrl.Result{}, nil
		}
		if err := r.dns.Remove(ctx, &site); err != nil {
			return ctrl.Result{}, err
		}
		controllerutil.RemoveFinalizer(&site, finalizer)
		return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, &site))
	}
	if controllerutil.AddFinalizer(&site, finalizer) {
		if err := r.Update(ctx, &site); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := r.dns.Set(ctx, &site); err != nil {
		return ctrl.Result{}, err
	}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, d, func() error {
		if d.UID != "" && !metav1.IsControlledBy(d, &site) {
			return errTaken
		}
		if d.UID == "" {
			d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"website": site.Name}}
			d.Spec.Template.Labels = d.Spec.Selector.MatchLabels
			d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web"}}
		}
		d.Spec.Replicas = &site.Spec.Replicas
		d.Spec.Template.Spec.Containers[0].Image = site.Spec.Image
		return controllerutil.SetControllerReference(&site, d, r.Scheme())
	})
	before := site.DeepCopy()
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Starting", ObservedGeneration: site.Generation}
	switch {
	case errors.Is(err, errTaken):
		ready.Reason = "NameTaken"
		ready.Message = err.Error()
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err):
		ready.Reason = string(apierrors.ReasonForError(err))
		ready.Message = err.Error()
	case err != nil:
		return ctrl.Result{}, err
	case d.Status.ObservedGeneration == d.Generation && d.Status.AvailableReplicas >= site.Spec.Replicas:
		ready.Status = metav1.ConditionTrue
		ready.Reason = "Available"
	}
	meta.SetStatusCondition(&site.Status.Conditions, ready)
	if !equality.Semantic.DeepEqual(before.Status, site.Status) {
		err = errors.Join(err, r.Status().Patch(ctx, &site, client.MergeFrom(before)))
	}
	return ctrl.Result{}, err
}

// Run works on all Websites of a server until ctx is done.
func Run(ctx context.Context, server *rest.Config, dns DNS) error {
	m, err := ctrl.NewManager(server, ctrl.Options{Scheme: scheme()})
	if err != nil {
		return err
	}
	if err := ctrl.NewControllerManagedBy(m).For(&Website{}).Owns(&appsv1.Deployment{}).Complete(reconciler{m.GetClient(), dns}); err != nil {
		return err
	}
	return m.Start(ctx)
}
