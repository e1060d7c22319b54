package website

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/with/kubernetes/apps"
)

// DNS is outside the API server. It keeps a record per UID of a Website, because another Website can
// get the name later, and the host can change. Both can be called again for the same Website. After Remove,
// Set does nothing: caches may be behind.
type DNS interface {
	Set(ctx context.Context, site *Website) error
	Remove(ctx context.Context, site *Website) error
}

// Run works on all Websites of a server until ctx is done. It reads through handles, which have its own
// writes at once. If nothing changed, it sends nothing.
func Run(ctx context.Context, server client.Connection, dns DNS) error {
	sites := kinform.Open(server, Websites)
	deployments := kinform.Open(server, apps.Deployments)
	c := controller.New("website", func(ctx context.Context, key kinform.Key) error {
		site, ok := sites.Cached(key)
		if !ok {
			return nil
		}
		site, done, err := controller.Finalize(ctx, sites, site, "example.com/dns", dns.Remove)
		if done || err != nil {
			return err
		}
		if err := dns.Set(ctx, site); err != nil {
			return err
		}
		first, edit := wanted(site)
		deployment, _, err := controller.CreateOrUpdate(ctx, deployments, first, edit)
		taken := new(controller.OwnedError)
		ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Starting"}
		switch {
		case errors.As(err, &taken):
			ready.Reason = "NameTaken"
			ready.Message = err.Error()
		case apierrors.IsInvalid(err), apierrors.IsForbidden(err):
			ready.Reason = string(apierrors.ReasonForError(err))
			ready.Message = err.Error()
		case err != nil:
			return err
		case deployment.Status.ObservedGeneration == deployment.Generation && deployment.Status.AvailableReplicas >= site.Spec.Replicas:
			ready.Status = metav1.ConditionTrue
			ready.Reason = "Available"
		}
		_, failed := controller.PatchStatus(ctx, sites, site, func(s *Website) {
			controller.SetCondition(&s.Status.Conditions, site.Generation, ready)
		})
		return errors.Join(err, failed) // after an OwnedError, the site is reconciled when the name is free
	})
	controller.For(c, sites)
	controller.Owns(c, sites, deployments)
	return manager.Run(ctx, c)
}

// wanted returns the Deployment to create for a Website, and a function that edits the one that is
// there. It sets single fields, so that the defaults of the server stay.
func wanted(site *Website) (first *appsv1.Deployment, edit func(*appsv1.Deployment) error) {
	first = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Name}}
	first.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"website": site.Name}}
	first.Spec.Template.Labels = first.Spec.Selector.MatchLabels
	first.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web"}}
	return first, func(d *appsv1.Deployment) error {
		if err := controller.SetController(d, site, Websites); err != nil {
			return err // somebody else's Deployment may not even have a container
		}
		d.Spec.Replicas = &site.Spec.Replicas
		d.Spec.Template.Spec.Containers[0].Image = site.Spec.Image
		return nil
	}
}
