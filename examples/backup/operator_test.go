package backup_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/backup"
	"github.com/kinform/kinform/examples/internal/stage"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/batch"
	"github.com/kinform/kinform/with/kubernetes/coordination"
	"github.com/kinform/kinform/with/kubernetes/core"
	"github.com/kinform/kinform/with/kubernetes/events"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var nightly = kinform.Key{Namespace: "prod", Name: "nightly"}

// world is a server in memory and the operator at work.
type world struct {
	*stage.Stage
	t *testing.T
}

func newWorld(t *testing.T) world {
	return world{stage.New(t, fake.Options{}, func(ctx context.Context, server client.Connection) error {
		return backup.Run(ctx, server, "prod")
	}, stage.Kind(backup.Backups), stage.Kind(batch.Jobs), stage.Kind(core.ConfigMaps), stage.Kind(core.Secrets),
		stage.Kind(coordination.Leases), stage.Kind(events.Events)), t}
}

// want checks the reason of the condition, and that the Job of the status is the only one.
func (w world) want(reason string) (job string) {
	w.t.Helper()
	w.Breathe()
	b := stage.Get[*backup.Backup](w.Stage, nightly)
	if len(b.Status.Conditions) != 1 || b.Status.Conditions[0].Reason != reason {
		w.t.Errorf("conditions %v, want %s", b.Status.Conditions, reason)
	}
	jobs, err := fake.List[*batchv1.Job](w.Server, fake.Selection{})
	w.Check(err)
	if len(jobs) != 1 || jobs[0].Name != b.Status.Job {
		w.t.Errorf("%d jobs, the status has %q", len(jobs), b.Status.Job)
	}
	return b.Status.Job
}

// A Backup waits for what it refers to, runs, and runs again when that changes.
func TestBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		stage.Create(w.Stage, fake.Object(&corev1.Secret{Data: map[string][]byte{"key": []byte("1")}}, "prod", "login"))
		stage.Create(w.Stage, fake.Object(&backup.Backup{Spec: backup.BackupSpec{Image: "dump:1", Settings: "disks", Credentials: "login"}}, "prod", "nightly"))
		w.Settle() // until this process leads
		if b := stage.Get[*backup.Backup](w.Stage, nightly); len(b.Status.Conditions) != 1 || b.Status.Conditions[0].Reason != "NoSettings" {
			t.Errorf("without settings: %v", b.Status)
		}
		stage.Create(w.Stage, fake.Object(&corev1.ConfigMap{Data: map[string]string{"disk": "a"}}, "prod", "disks"))
		first := w.want("Running")
		stage.Patch[*corev1.ConfigMap](w.Stage, kinform.Key{Namespace: "prod", Name: "disks"}, `{"data":{"disk":"b"}}`)
		second := w.want("Running")
		stage.Patch[*corev1.Secret](w.Stage, kinform.Key{Namespace: "prod", Name: "login"}, `{"data":{"key":"Mg=="}}`)
		third := w.want("Running")
		stage.Patch[*backup.Backup](w.Stage, nightly, `{"spec":{"image":"dump:2"}}`)
		fourth := w.want("Running")
		if names := slices.Compact([]string{first, second, third, fourth}); len(names) != 4 {
			t.Errorf("jobs %q", names)
		}
		job := stage.Get[*batchv1.Job](w.Stage, kinform.Key{Namespace: "prod", Name: fourth})
		job.Status.Succeeded = 1
		_, err := fake.UpdateStatus(w.Server, job)
		w.Check(err)
		w.want("Complete")
		recorded, err := fake.List[*eventsv1.Event](w.Server, fake.Selection{})
		w.Check(err)
		var reasons []string
		for _, event := range recorded {
			reasons = append(reasons, event.Reason)
		}
		slices.Sort(reasons)
		if want := []string{"NoSettings", "Started", "Started", "Started", "Started"}; !slices.Equal(reasons, want) {
			t.Errorf("events %q, want %q", reasons, want)
		}
	})
}
