package backup

import (
	"context"
	"testing"

	"go.uber.org/goleak"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A Backup with all that it refers to gets a Job.
func TestBackup(t *testing.T) {
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "prod", Name: name} }
	backup := &Backup{ObjectMeta: meta("nightly"), Spec: BackupSpec{
		Image: "dump:1", Settings: Reference{"prod", "disks"}, Credentials: Reference{"prod", "login"},
	}}
	server := fake.NewClientBuilder().WithScheme(scheme()).WithStatusSubresource(backup).
		WithObjects(backup, &corev1.ConfigMap{ObjectMeta: meta("disks")}, &corev1.Secret{ObjectMeta: meta("login")}).Build()
	r := reconciler{server, events.NewFakeRecorder(10), func(context.Context, *Backup) error { return nil }}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(backup)}); err != nil {
		t.Fatal(err)
	}
	var jobs batchv1.JobList
	if err := server.List(t.Context(), &jobs); err != nil {
		t.Fatal(err)
	}
	if len(jobs.Items) != 1 || !metav1.IsControlledBy(&jobs.Items[0], backup) {
		t.Errorf("%d jobs", len(jobs.Items))
	}
}
