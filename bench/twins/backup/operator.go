// Package backup is the twin of examples/backup with controller-runtime: a whole operator of four kinds.
package backup

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type reconciler struct {
	client.Client
	events events.EventRecorder
}

// Run works on all Backups of a server while this process leads, until ctx is done. Namespace is that of the Lease.
func Run(ctx context.Context, server *rest.Config, namespace string) error {
	m, err := ctrl.NewManager(server, ctrl.Options{
		Scheme: scheme(), LeaderElection: true, LeaderElectionNamespace: namespace, LeaderElectionID: "backups.example.com",
	})
	if err != nil {
		return err
	}
	err = errors.Join(
		m.GetFieldIndexer().IndexField(ctx, &Backup{}, "settings", func(o client.Object) []string { return []string{o.(*Backup).Spec.Settings} }),
		m.GetFieldIndexer().IndexField(ctx, &Backup{}, "credentials", func(o client.Object) []string { return []string{o.(*Backup).Spec.Credentials} }),
	)
	if err != nil {
		return err
	}
	r := reconciler{m.GetClient(), m.GetEventRecorder("backups.example.com")}
	err = ctrl.NewControllerManagedBy(m).For(&Backup{}).Owns(&batchv1.Job{}).
		Watches(&corev1.ConfigMap{}, r.who("settings")).Watches(&corev1.Secret{}, r.who("credentials")).Complete(r)
	if err != nil {
		return err
	}
	return m.Start(ctx)
}

// who maps a changed object to the Backups that refer to it.
func (r reconciler) who(index string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) (requests []reconcile.Request) {
		var backups BackupList
		if err := r.List(ctx, &backups, client.InNamespace(o.GetNamespace()), client.MatchingFields{index: o.GetName()}); err != nil {
			return nil
		}
		for i := range backups.Items {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&backups.Items[i])})
		}
		return requests
	})
}

// Reconcile works on one Backup.
func (r reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var backup Backup
	if err := r.Get(ctx, req.NamespacedName, &backup); err != nil || backup.DeletionTimestamp != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var settings corev1.ConfigMap
	err := r.Get(ctx, client.ObjectKey{Namespace: req.Namespace, Name: backup.Spec.Settings}, &settings)
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, r.wait(ctx, &backup, "NoSettings", "there is no ConfigMap "+backup.Spec.Settings)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	var secret corev1.Secret
	err = r.Get(ctx, client.ObjectKey{Namespace: req.Namespace, Name: backup.Spec.Credentials}, &secret)
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, r.wait(ctx, &backup, "NoCredentials", "there is no Secret "+backup.Spec.Credentials)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	job, err := r.job(ctx, &backup, &settings, &secret)
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		refused := metav1.Condition{Status: metav1.ConditionFalse, Reason: string(apierrors.ReasonForError(err)), Message: err.Error()}
		return ctrl.Result{}, errors.Join(err, r.report(ctx, &backup, backup.Status.Job, refused))
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.report(ctx, &backup, job.Name, stateOf(job)); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.clean(ctx, &backup, job.Name)
}

// wait tells people what is missing. When it comes, the Backup is reconciled again.
func (r reconciler) wait(ctx context.Context, backup *Backup, reason, message string) error {
	r.events.Eventf(backup, nil, corev1.EventTypeWarning, reason, "Start", "%s", message)
	missing := metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}
	return r.report(ctx, backup, backup.Status.Job, missing)
}

// job returns the Job of the present configuration, which it creates if there is none.
func (r reconciler) job(ctx context.Context, backup *Backup, settings *corev1.ConfigMap, secret *corev1.Secret) (*batchv1.Job, error) {
	sum := fnv.New32a()
	fmt.Fprint(sum, backup.UID, backup.Spec, settings.Data, secret.Data) // maps are printed in order
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: backup.Namespace,
		Name:      fmt.Sprintf("%s-%08x", backup.Name, sum.Sum32()),
	}}
	if err := r.Get(ctx, client.ObjectKeyFromObject(job), job); !apierrors.IsNotFound(err) {
		return job, err
	}
	container := corev1.Container{Name: "backup", Image: backup.Spec.Image, EnvFrom: []corev1.EnvFromSource{
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: settings.Name}}},
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: secret.Name}}},
	}}
	job.Labels = map[string]string{"backup": backup.Name}
	job.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{container},
	}
	if err := ctrl.SetControllerReference(backup, job, r.Scheme()); err != nil {
		return nil, err
	}
	err := r.Create(ctx, job)
	if apierrors.IsAlreadyExists(err) { // the cache was behind
		return job, nil
	}
	if err == nil {
		r.events.Eventf(backup, nil, corev1.EventTypeNormal, "Started", "Start", "job %s", job.Name)
	}
	return job, err
}

// stateOf returns the condition of a Backup with a Job.
func stateOf(job *batchv1.Job) metav1.Condition {
	switch {
	case job.Status.Succeeded > 0:
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: "Complete"}
	case job.Status.Failed > 0:
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: "Failed"}
	}
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: "Running"}
}

// report writes the status.
func (r reconciler) report(ctx context.Context, backup *Backup, job string, ready metav1.Condition) error {
	before := backup.DeepCopy()
	backup.Status.Job = job
	ready.Type = "Ready"
	ready.ObservedGeneration = backup.Generation
	meta.SetStatusCondition(&backup.Status.Conditions, ready)
	if equality.Semantic.DeepEqual(before.Status, backup.Status) {
		return nil
	}
	return r.Status().Patch(ctx, backup, client.MergeFrom(before))
}

// clean deletes the Jobs of earlier configurations.
func (r reconciler) clean(ctx context.Context, backup *Backup, present string) error {
	var jobs batchv1.JobList
	if err := r.List(ctx, &jobs, client.InNamespace(backup.Namespace), client.MatchingLabels{"backup": backup.Name}); err != nil {
		return err
	}
	for i := range jobs.Items {
		job := &jobs.Items[i]
		if job.Name == present || !metav1.IsControlledBy(job, backup) {
			continue
		}
		if err := r.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}
