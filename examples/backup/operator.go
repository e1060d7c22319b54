// Package backup is a whole operator of the usual kind: a CRD with a schedule and a finalizer, Jobs that it owns, a
// ConfigMap and a Secret in other namespaces that it refers to, a condition, events for people, and leader election.
// Of Secrets it reads only the metadata.
//
// At each turn of the schedule, and when the spec, the settings or the Secret change, another Job begins. The
// one before is deleted.
//
// +groupName=example.com
// +versionName=v1
package backup

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/events"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/shard/leader"
	"github.com/kinform/kinform/with/kubernetes/batch"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// operator holds what a reconcile needs.
type operator struct {
	backups  *kinform.Handle[*Backup]
	jobs     *kinform.Handle[*batchv1.Job]
	settings *kinform.Handle[*corev1.ConfigMap]
	secrets  *kinform.Handle[*metav1.PartialObjectMetadata]
	events   events.Reporter[*Backup]
	cleanup  func(context.Context, *Backup) error
}

// New returns a manager that works on all Backups of a server while this process leads. Namespace is the
// Lease's. When a Backup is deleted, cleanup removes what its Jobs have saved outside of the cluster. It may be
// called again for the same Backup.
func New(server client.Connection, namespace string, cleanup func(context.Context, *Backup) error) *manager.Manager {
	elector := leader.New(server, leader.Options{Namespace: namespace, Name: "backups.example.com"})
	recorder := events.New(server, events.Options{Controller: "backups.example.com"})
	gated := elector.Gate(server) // only the leader writes
	o := operator{
		backups:  kinform.Open(gated, Backups),
		jobs:     kinform.Open(gated, batch.Jobs),
		settings: kinform.Open(gated, core.ConfigMaps),
		secrets:  kinform.Open(gated, kind.As[*metav1.PartialObjectMetadata](core.Secrets)),
		events:   events.For(recorder, Backups),
		cleanup:  cleanup,
	}
	bySettings := kinform.Index(o.backups, "settings", func(b *Backup) kinform.Key { return b.Spec.Settings.Key() })
	byCredentials := kinform.Index(o.backups, "credentials", func(b *Backup) kinform.Key { return b.Spec.Credentials.Key() })

	c := controller.New("backup", o.reconcile)
	controller.For(c, o.backups)
	controller.Owns(c, o.backups, o.jobs)
	controller.References(c, o.settings, bySettings)
	controller.References(c, o.secrets, byCredentials)

	m := manager.New(manager.Options{Elector: elector})
	m.AddControllers(c)
	m.AddToAll("events", recorder)
	return m
}

// reconcile brings one Backup closer to its spec.
func (o *operator) reconcile(ctx context.Context, key kinform.Key) error {
	backup, ok := o.backups.Cached(key)
	if !ok {
		return nil
	}
	backup, done, err := controller.Finalize(ctx, o.backups, backup, "backups.example.com/cleanup", o.cleanup)
	if done || err != nil {
		return err
	}
	settings, ok := o.settings.Cached(backup.Spec.Settings.Key())
	if !ok {
		return o.notReady(ctx, backup, "NoSettings", "there is no ConfigMap "+backup.Spec.Settings.Key().String())
	}
	secret, ok := o.secrets.Cached(backup.Spec.Credentials.Key())
	if !ok {
		return o.notReady(ctx, backup, "NoCredentials", "there is no Secret "+backup.Spec.Credentials.Key().String())
	}
	turn, next := schedule(backup)
	job, err := o.job(ctx, backup, fmt.Sprint(turn, settings.Data, secret.ResourceVersion))
	switch {
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err):
		o.events.Warning(backup, "Refused", "Start", "%v", err)
		return errors.Join(err, o.notReady(ctx, backup, string(apierrors.ReasonForError(err)), err.Error()))
	case err != nil:
		return err
	}
	if err := errors.Join(o.report(ctx, backup, job.Name, stateOf(job)), o.clean(ctx, backup, job.Name)); err != nil {
		return err
	}
	return controller.Again(next)
}

// notReady says in the status why no Job begins: something is missing, or the server refuses the Job. The caches of
// two kinds may be some milliseconds apart, so what is missing may just not be there yet. The status corrects itself
// then, and an Event would stay.
func (o *operator) notReady(ctx context.Context, backup *Backup, reason, message string) error {
	return o.report(ctx, backup, backup.Status.Job, metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message})
}

// schedule returns the number of the present turn, and the time until the next one.
func schedule(backup *Backup) (turn int64, next time.Duration) {
	every := max(backup.Spec.Every.Duration, time.Minute)
	age := time.Since(backup.CreationTimestamp.Time)
	return int64(age / every), every - age%every
}

// job returns the Job of a turn and configuration, which it creates if there is none. Settings and credentials may be
// in other namespaces, so the Job gets their names, and reads them itself.
func (o *operator) job(ctx context.Context, backup *Backup, configuration string) (*batchv1.Job, error) {
	sum := fnv.New32a()
	fmt.Fprint(sum, backup.UID, backup.Spec, configuration)
	key := kinform.Key{Namespace: backup.Namespace, Name: fmt.Sprintf("%s-%08x", backup.Name, sum.Sum32())}
	if known, ok := o.jobs.Cached(key); ok {
		return known, nil
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "backup", Image: backup.Spec.Image, Env: []corev1.EnvVar{
		{Name: "SETTINGS", Value: backup.Spec.Settings.Key().String()},
		{Name: "CREDENTIALS", Value: backup.Spec.Credentials.Key().String()},
	}}}
	if err := controller.SetController(job, backup, Backups); err != nil {
		return nil, err
	}
	created, err := o.jobs.Create(ctx, job, metav1.CreateOptions{})
	if err == nil {
		o.events.Normal(backup, "Started", "Start", "job %s", created.Name)
	}
	return created, err
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
func (o *operator) report(ctx context.Context, backup *Backup, job string, ready metav1.Condition) error {
	ready.Type = "Ready"
	_, err := controller.PatchStatus(ctx, o.backups, backup, func(b *Backup) {
		b.Status.Job = job
		controller.SetCondition(&b.Status.Conditions, backup.Generation, ready)
	})
	return err
}

// clean deletes the Jobs of earlier turns and configurations, and their pods.
func (o *operator) clean(ctx context.Context, backup *Backup, present string) (err error) {
	withPods := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	for _, job := range o.jobs.List(backup.Namespace, nil) {
		if job.Name != present && metav1.IsControlledBy(job, backup) {
			err = errors.Join(err, controller.Delete(ctx, o.jobs, job, withPods))
		}
	}
	return err
}
