// Package backup is the twin of examples/backup with controller-runtime: a whole operator of four kinds.
package backup

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const finalizer = "backups.example.com/cleanup"

type reconciler struct {
	client.Client
	events  events.EventRecorder
	cleanup func(context.Context, *Backup) error
}

// New returns a manager that works on all Backups of a server while this process leads. The options name the namespace
// of the Lease and the addresses of probes. When a Backup is deleted, cleanup removes what its Jobs have saved outside of
// the cluster. It may be called again for the same Backup.
func New(ctx context.Context, server *rest.Config, options ctrl.Options, cleanup func(context.Context, *Backup) error) (ctrl.Manager, error) {
	options.Scheme = scheme()
	options.LeaderElection = true
	options.LeaderElectionID = "backups.example.com"
	m, err := ctrl.NewManager(server, options)
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		m.GetFieldIndexer().IndexField(ctx, &Backup{}, "settings", func(o client.Object) []string {
			return []string{o.(*Backup).Spec.Settings.Key().String()}
		}),
		m.GetFieldIndexer().IndexField(ctx, &Backup{}, "credentials", func(o client.Object) []string {
			return []string{o.(*Backup).Spec.Credentials.Key().String()}
		}),
	)
	if err != nil {
		return nil, err
	}
	r := reconciler{m.GetClient(), m.GetEventRecorder("backups.example.com"), cleanup}
	err = ctrl.NewControllerManagedBy(m).
		For(&Backup{}).
		Owns(&batchv1.Job{}).
		Watches(&corev1.ConfigMap{}, r.who("settings")).
		Watches(&corev1.Secret{}, r.who("credentials"), builder.OnlyMetadata).
		Complete(r)
	return m, err
}

// who maps a changed object to the Backups that refer to it.
func (r reconciler) who(index string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) (requests []reconcile.Request) {
		var backups BackupList
		if err := r.List(ctx, &backups, client.MatchingFields{index: client.ObjectKeyFromObject(o).String()}); err != nil {
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
	if err := r.Get(ctx, req.NamespacedName, &backup); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if backup.DeletionTimestamp != nil {
		if !controllerutil.ContainsFinalizer(&backup, finalizer) {
			return ctrl.Result{}, nil
		}
		if err := r.cleanup(ctx, &backup); err != nil {
			return ctrl.Result{}, err
		}
		controllerutil.RemoveFinalizer(&backup, finalizer)
		return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, &backup))
	}
	if controllerutil.AddFinalizer(&backup, finalizer) {
		if err := r.Update(ctx, &backup); err != nil {
			return ctrl.Result{}, err
		}
	}
	var settings corev1.ConfigMap
	err := r.Get(ctx, backup.Spec.Settings.Key(), &settings)
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, r.notReady(ctx, &backup, "NoSettings", "there is no ConfigMap "+backup.Spec.Settings.Key().String())
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	var secret metav1.PartialObjectMetadata
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err = r.Get(ctx, backup.Spec.Credentials.Key(), &secret)
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, r.notReady(ctx, &backup, "NoCredentials", "there is no Secret "+backup.Spec.Credentials.Key().String())
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	turn, next := schedule(&backup)
	job, err := r.job(ctx, &backup, fmt.Sprint(turn, settings.Data, secret.ResourceVersion))
	switch {
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err):
		r.events.Eventf(&backup, nil, corev1.EventTypeWarning, "Refused", "Start", "%v", err)
		return ctrl.Result{}, errors.Join(err, r.notReady(ctx, &backup, string(apierrors.ReasonForError(err)), err.Error()))
	case err != nil:
		return ctrl.Result{}, err
	}
	if err := errors.Join(r.report(ctx, &backup, job.Name, stateOf(job)), r.clean(ctx, &backup, job.Name)); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: next}, nil
}

// notReady says in the status why no Job begins: something is missing, or the server refuses the Job.
func (r reconciler) notReady(ctx context.Context, backup *Backup, reason, message string) error {
	return r.report(ctx, backup, backup.Status.Job, metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message})
}

// schedule returns the number of the present turn, and the time until the next one.
func schedule(backup *Backup) (turn int64, next time.Duration) {
	every := max(backup.Spec.Every.Duration, time.Minute)
	age := time.Since(backup.CreationTimestamp.Time)
	return int64(age / every), every - age%every
}

// job returns the Job of a turn and configuration, which it creates if there is none. Settings and credentials may be
// in other namespaces, so the Job gets their names, and reads them itself.
func (r reconciler) job(ctx context.Context, backup *Backup, configuration string) (*batchv1.Job, error) {
	sum := fnv.New32a()
	fmt.Fprint(sum, backup.UID, backup.Spec, configuration)
	name := fmt.Sprintf("%s-%08x", backup.Name, sum.Sum32())
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: backup.Namespace, Name: name}}
	if err := r.Get(ctx, client.ObjectKeyFromObject(job), job); !apierrors.IsNotFound(err) {
		return job, err
	}
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "backup", Image: backup.Spec.Image, Env: []corev1.EnvVar{
		{Name: "SETTINGS", Value: backup.Spec.Settings.Key().String()},
		{Name: "CREDENTIALS", Value: backup.Spec.Credentials.Key().String()},
	}}}
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

// stateOf returns the condition of a Backup with a Job. While a Job retries after failed pods, it is running.
func stateOf(job *batchv1.Job) metav1.Condition {
	for _, c := range job.Status.Conditions {
		switch {
		case c.Status == corev1.ConditionTrue && c.Type == batchv1.JobComplete:
			return metav1.Condition{Status: metav1.ConditionTrue, Reason: "Complete"}
		case c.Status == corev1.ConditionTrue && c.Type == batchv1.JobFailed:
			return metav1.Condition{Status: metav1.ConditionFalse, Reason: "Failed", Message: c.Message}
		}
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

// clean deletes the Jobs of earlier turns and configurations.
func (r reconciler) clean(ctx context.Context, backup *Backup, present string) error {
	var jobs batchv1.JobList
	if err := r.List(ctx, &jobs, client.InNamespace(backup.Namespace)); err != nil {
		return err
	}
	for i := range jobs.Items {
		job := &jobs.Items[i]
		if job.Name != present && metav1.IsControlledBy(job, backup) {
			if err := r.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
	}
	return nil
}
