// Package backup is a whole operator of four kinds, as most are: a CRD, Jobs that it owns, a ConfigMap and
// a Secret that it refers to, a condition, events for people, and leader election. A change of the image, the
// settings or the credentials begins another Job; the one before is deleted.
package backup

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/events"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/shard/leader"
	"github.com/kinform/kinform/with/kubernetes/batch"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// operator holds what a reconcile needs.
type operator struct {
	backups  *kinform.Handle[*Backup]
	jobs     *kinform.Handle[*batchv1.Job]
	settings *kinform.Handle[*corev1.ConfigMap]
	secrets  *kinform.Handle[*corev1.Secret]
	events   events.Reporter[*Backup]
}

// Run works on all Backups of a server while this process leads, until ctx is done. Namespace is that of the Lease.
func Run(ctx context.Context, server client.Connection, namespace string) error {
	recorder := events.New(server, events.Options{Controller: "backups.example.com"})
	o := operator{
		backups:  kinform.Open(server, Backups),
		jobs:     kinform.Open(server, batch.Jobs),
		settings: kinform.Open(server, core.ConfigMaps),
		secrets:  kinform.Open(server, core.Secrets),
		events:   events.For(recorder, Backups),
	}
	bySettings := kinform.Index(o.backups, "settings", settingsOf)
	byCredentials := kinform.Index(o.backups, "credentials", credentialsOf)

	c := controller.New("backup", o.reconcile)
	controller.For(c, o.backups)
	controller.Owns(c, o.backups, o.jobs)
	controller.References(c, o.settings, bySettings)
	controller.References(c, o.secrets, byCredentials)

	elector := leader.New(server, leader.Options{Namespace: namespace, Name: "backups.example.com"})
	m := manager.New(manager.Options{Elector: elector})
	m.AddControllers(c)
	m.AddToAll("events", recorder)
	return m.Run(ctx)
}

// settingsOf returns the key of the ConfigMap that a Backup refers to.
func settingsOf(b *Backup) kinform.Key {
	return kinform.Key{Namespace: b.Namespace, Name: b.Spec.Settings}
}

// credentialsOf returns the key of the Secret that a Backup refers to.
func credentialsOf(b *Backup) kinform.Key {
	return kinform.Key{Namespace: b.Namespace, Name: b.Spec.Credentials}
}

// reconcile brings one Backup closer to its spec.
func (o *operator) reconcile(ctx context.Context, key kinform.Key) error {
	backup, ok := o.backups.Cached(key)
	if !ok || backup.DeletionTimestamp != nil {
		return nil
	}
	settings, ok := o.settings.Cached(settingsOf(backup))
	if !ok {
		return o.wait(ctx, backup, "NoSettings", "there is no ConfigMap "+backup.Spec.Settings)
	}
	secret, ok := o.secrets.Cached(credentialsOf(backup))
	if !ok {
		return o.wait(ctx, backup, "NoCredentials", "there is no Secret "+backup.Spec.Credentials)
	}
	job, err := o.job(ctx, backup, settings, secret)
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		refused := metav1.Condition{Status: metav1.ConditionFalse, Reason: string(apierrors.ReasonForError(err)), Message: err.Error()}
		return errors.Join(err, o.report(ctx, backup, backup.Status.Job, refused))
	}
	if err != nil {
		return err
	}
	if err := o.report(ctx, backup, job.Name, stateOf(job)); err != nil {
		return err
	}
	return o.clean(ctx, backup, job.Name)
}

// wait tells people what is missing. When it comes, the Backup is reconciled again.
func (o *operator) wait(ctx context.Context, backup *Backup, reason, message string) error {
	o.events.Warning(backup, reason, "Start", "%s", message)
	missing := metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}
	return o.report(ctx, backup, backup.Status.Job, missing)
}

// job returns the Job of the present configuration, which it creates if there is none.
func (o *operator) job(ctx context.Context, backup *Backup, settings *corev1.ConfigMap, secret *corev1.Secret) (*batchv1.Job, error) {
	sum := fnv.New32a()
	fmt.Fprint(sum, backup.UID, backup.Spec, settings.Data, secret.Data) // maps are printed in order
	key := kinform.Key{Namespace: backup.Namespace, Name: fmt.Sprintf("%s-%08x", backup.Name, sum.Sum32())}
	if known, ok := o.jobs.Cached(key); ok {
		return known, nil
	}
	container := corev1.Container{Name: "backup", Image: backup.Spec.Image, EnvFrom: []corev1.EnvFromSource{
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: settings.Name}}},
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: secret.Name}}},
	}}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace,
		Name:      key.Name,
		Labels:    map[string]string{"backup": backup.Name},
	}}
	job.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{container},
	}
	if err := controller.SetController(job, backup, Backups); err != nil {
		return nil, err
	}
	created, err := o.jobs.Create(ctx, job, metav1.CreateOptions{})
	if err == nil {
		o.events.Normal(backup, "Started", "Start", "job %s", created.Name)
	}
	return created, err
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
func (o *operator) report(ctx context.Context, backup *Backup, job string, ready metav1.Condition) error {
	ready.Type = "Ready"
	_, err := controller.PatchStatus(ctx, o.backups, backup, func(b *Backup) {
		b.Status.Job = job
		controller.SetCondition(&b.Status.Conditions, backup.Generation, ready)
	})
	return err
}

// clean deletes the Jobs of earlier configurations, and their pods.
func (o *operator) clean(ctx context.Context, backup *Backup, present string) error {
	background := metav1.DeletePropagationBackground
	for _, job := range o.jobs.List(backup.Namespace, labels.SelectorFromSet(labels.Set{"backup": backup.Name})) {
		if job.Name == present || !metav1.IsControlledBy(job, backup) {
			continue
		}
		if err := controller.Delete(ctx, o.jobs, job, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
			return err
		}
	}
	return nil
}
