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
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
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
	bySettings := index.New("settings", func(keys []kinform.Key, b *Backup) []kinform.Key {
		return append(keys, kinform.Key{Namespace: b.Namespace, Name: b.Spec.Settings})
	})
	byCredentials := index.New("credentials", func(keys []kinform.Key, b *Backup) []kinform.Key {
		return append(keys, kinform.Key{Namespace: b.Namespace, Name: b.Spec.Credentials})
	})
	var o operator
	var errs [8]error
	o.backups, errs[0] = kinform.Open(server, Backups, controller.OpenOptions[*Backup]{Indexes: index.Of(bySettings, byCredentials)})
	o.jobs, errs[1] = kinform.Open(server, batch.Jobs)
	o.settings, errs[2] = kinform.Open(server, core.ConfigMaps)
	o.secrets, errs[3] = kinform.Open(server, core.Secrets)
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	withSettings, err := informer.Bind(o.backups, bySettings)
	withCredentials, failed := informer.Bind(o.backups, byCredentials)
	recorder, noEvents := events.New(server, events.Options{Controller: "backups.example.com"})
	elector, noElector := leader.New(server, leader.Options{Namespace: namespace, Name: "backups.example.com"})
	if err := errors.Join(err, failed, noEvents, noElector); err != nil {
		return err
	}
	if o.events, err = events.For(recorder, Backups); err != nil {
		return err
	}
	c := controller.New(controller.Options[kinform.Key]{Name: "backup"})
	m := manager.New(manager.Options{Elector: elector})
	errs[0] = controller.For(c, o.backups, o.backups.NotOwn)
	errs[1] = controller.Owns(c, o.backups, o.jobs, o.jobs.NotOwn)
	errs[2] = controller.Watch(c, o.settings, func(keys []kinform.Key, s *corev1.ConfigMap) []kinform.Key {
		return append(keys, withSettings.Keys(kinform.Key{Namespace: s.Namespace, Name: s.Name})...)
	})
	errs[3] = controller.Watch(c, o.secrets, func(keys []kinform.Key, s *corev1.Secret) []kinform.Key {
		return append(keys, withCredentials.Keys(kinform.Key{Namespace: s.Namespace, Name: s.Name})...)
	})
	errs[4] = m.AddCaches(o.backups, o.jobs, o.settings, o.secrets)
	errs[5] = m.Add("events", recorder.Run)
	errs[6] = manager.AddController(m, c, o.reconcile)
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	return m.Run(ctx)
}

func (o *operator) reconcile(ctx context.Context, key kinform.Key) error {
	backup, ok := o.backups.Cached(key)
	if !ok || backup.DeletionTimestamp != nil {
		return nil
	}
	settings, hasSettings := o.settings.Cached(kinform.Key{Namespace: key.Namespace, Name: backup.Spec.Settings})
	secret, hasSecret := o.secrets.Cached(kinform.Key{Namespace: key.Namespace, Name: backup.Spec.Credentials})
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Running"}
	switch {
	case !hasSettings:
		ready.Reason, ready.Message = "NoSettings", "there is no ConfigMap "+backup.Spec.Settings
	case !hasSecret:
		ready.Reason, ready.Message = "NoCredentials", "there is no Secret "+backup.Spec.Credentials
	}
	if !hasSettings || !hasSecret {
		o.events.Warning(backup, ready.Reason, "Start", "%s", ready.Message)
		return o.report(ctx, backup, backup.Status.Job, ready)
	}
	job, err := o.run(ctx, backup, settings, secret)
	switch {
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err):
		ready.Reason, ready.Message = string(apierrors.ReasonForError(err)), err.Error()
		return errors.Join(err, o.report(ctx, backup, backup.Status.Job, ready))
	case err != nil:
		return err
	case job.Status.Succeeded > 0:
		ready.Status, ready.Reason = metav1.ConditionTrue, "Complete"
	case job.Status.Failed > 0:
		ready.Reason = "Failed"
	}
	if err := o.report(ctx, backup, job.Name, ready); err != nil {
		return err
	}
	return o.clean(ctx, backup, job.Name)
}

// run returns the Job of the present configuration, which it creates if there is none.
func (o *operator) run(ctx context.Context, backup *Backup, settings *corev1.ConfigMap, secret *corev1.Secret) (*batchv1.Job, error) {
	sum := fnv.New32a()
	fmt.Fprint(sum, backup.UID, backup.Spec, settings.Data, secret.Data) // maps are printed in order
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: backup.Namespace, Name: fmt.Sprintf("%s-%08x", backup.Name, sum.Sum32())}}
	if known, ok := o.jobs.Cached(kinform.Key{Namespace: job.Namespace, Name: job.Name}); ok {
		return known, nil
	}
	job.Labels = map[string]string{"backup": backup.Name}
	job.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{Name: "backup", Image: backup.Spec.Image, EnvFrom: []corev1.EnvFromSource{
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: settings.Name}}},
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: secret.Name}}},
		}}},
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

// report writes the status.
func (o *operator) report(ctx context.Context, backup *Backup, job string, ready metav1.Condition) error {
	_, err := controller.PatchStatus(ctx, o.backups, backup, func(b *Backup) {
		b.Status.Job = job
		controller.SetCondition(&b.Status.Conditions, backup.Generation, ready)
	})
	return err
}

// clean deletes the Jobs of earlier configurations.
func (o *operator) clean(ctx context.Context, backup *Backup, present string) error {
	background := metav1.DeletePropagationBackground
	for _, job := range o.jobs.List(backup.Namespace, labels.SelectorFromSet(labels.Set{"backup": backup.Name})) {
		if job.Name == present || !metav1.IsControlledBy(job, backup) {
			continue
		}
		if err := o.jobs.Delete(ctx, kinform.Key{Namespace: job.Namespace, Name: job.Name}, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
