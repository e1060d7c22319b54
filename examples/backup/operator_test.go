package backup_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
	t       *testing.T
	cleaned map[types.UID]int // Backups that were cleaned up
}

func newWorld(t *testing.T) world {
	w := world{t: t, cleaned: map[types.UID]int{}}
	cleanup := func(_ context.Context, b *backup.Backup) error {
		w.cleaned[b.UID]++
		return nil
	}
	w.Stage = stage.New(t, fake.Options{CollectGarbage: true}, func(ctx context.Context, server client.Connection) error {
		server.HTTP = &http.Client{Transport: noContents{t, server.HTTP.Transport}}
		return backup.New(server, "prod", cleanup).Run(ctx)
	}, stage.Kind(backup.Backups), stage.Kind(batch.Jobs), stage.Kind(core.ConfigMaps), stage.Kind(core.Secrets),
		stage.Kind(coordination.Leases), stage.Kind(events.Events))
	return w
}

// noContents fails the test if a request asks for more of Secrets than the metadata.
type noContents struct {
	t *testing.T
	http.RoundTripper
}

func (n noContents) RoundTrip(r *http.Request) (*http.Response, error) {
	if accept := r.Header.Get("Accept"); strings.Contains(r.URL.Path, "/secrets") && !strings.Contains(accept, "as=PartialObjectMetadata") {
		n.t.Errorf("%s %s asks for %q", r.Method, r.URL, accept)
	}
	return n.RoundTripper.RoundTrip(r)
}

// create makes the Backup and its Secret.
func (w world) create(every time.Duration) *backup.Backup {
	stage.Create(w.Stage, fake.Object(&corev1.Secret{Data: map[string][]byte{"key": []byte("1")}}, "vault", "login"))
	return stage.Create(w.Stage, fake.Object(&backup.Backup{Spec: backup.BackupSpec{
		Image:       "dump:1",
		Every:       metav1.Duration{Duration: every},
		Settings:    backup.Reference{Namespace: "shared", Name: "disks"},
		Credentials: backup.Reference{Namespace: "vault", Name: "login"},
	}}, "prod", "nightly"))
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
		w.create(30 * 24 * time.Hour)
		w.Settle() // until this process leads
		if b := stage.Get[*backup.Backup](w.Stage, nightly); len(b.Status.Conditions) != 1 || b.Status.Conditions[0].Reason != "NoSettings" {
			t.Errorf("without settings: %v", b.Status)
		}
		stage.Create(w.Stage, fake.Object(&corev1.ConfigMap{Data: map[string]string{"disk": "a"}}, "shared", "disks"))
		first := w.want("Running")
		stage.Patch[*corev1.ConfigMap](w.Stage, kinform.Key{Namespace: "shared", Name: "disks"}, `{"data":{"disk":"b"}}`)
		second := w.want("Running")
		stage.Patch[*corev1.Secret](w.Stage, kinform.Key{Namespace: "vault", Name: "login"}, `{"data":{"key":"Mg=="}}`)
		third := w.want("Running")
		job := stage.Get[*batchv1.Job](w.Stage, kinform.Key{Namespace: "prod", Name: third})
		if env := job.Spec.Template.Spec.Containers[0].Env; len(env) != 2 || env[0].Value != "shared/disks" || env[1].Value != "vault/login" {
			t.Errorf("the environment is %v", env)
		}
		stage.Patch[*backup.Backup](w.Stage, nightly, `{"spec":{"image":"dump:2"}}`)
		fourth := w.want("Running")
		if names := slices.Compact([]string{first, second, third, fourth}); len(names) != 4 {
			t.Errorf("jobs %q", names)
		}
		job = stage.Get[*batchv1.Job](w.Stage, kinform.Key{Namespace: "prod", Name: fourth})
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

// At each turn of the schedule another Job begins, whether or not the one before was complete, and also if the operator
// was away at the time.
func TestSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		stage.Create(w.Stage, fake.Object(&corev1.ConfigMap{}, "shared", "disks"))
		begin := w.create(10 * time.Minute).CreationTimestamp
		at := func(age time.Duration) { time.Sleep(time.Until(begin.Add(age))) }
		at(time.Minute) // this process leads
		names := []string{w.want("Running")}
		for turn := range 4 {
			next := time.Duration(turn+1) * 10 * time.Minute
			if turn == 2 {
				w.Stop()
				at(next + time.Minute)
				w.Start()
			} else {
				at(next - 30*time.Second)
				if name := w.want("Running"); name != names[len(names)-1] {
					t.Errorf("%s begins before its turn", name)
				}
			}
			at(next + 2*time.Minute)
			names = append(names, w.want("Running"))
		}
		slices.Sort(names)
		if different := slices.Compact(names); len(different) != 5 {
			t.Errorf("jobs %q", different)
		}
	})
}

// What was saved is removed once when a Backup is deleted, and its Job goes with it.
func TestDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		stage.Create(w.Stage, fake.Object(&corev1.ConfigMap{}, "shared", "disks"))
		uid := w.create(24 * time.Hour).UID
		w.Settle() // until this process leads
		w.want("Running")
		stage.Delete[*backup.Backup](w.Stage, nightly)
		w.Settle()
		backups, err := fake.List[*backup.Backup](w.Server, fake.Selection{})
		w.Check(err)
		jobs, err := fake.List[*batchv1.Job](w.Server, fake.Selection{})
		w.Check(err)
		if len(backups) > 0 || len(jobs) > 0 || w.cleaned[uid] != 1 {
			t.Errorf("%d Backups and %d Jobs are left, and %d cleanups were made", len(backups), len(jobs), w.cleaned[uid])
		}
	})
}
