package backup_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/backup"
	"github.com/kinform/kinform/examples/internal/stage"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/with/kubernetes/batch"
	"github.com/kinform/kinform/with/kubernetes/coordination"
	"github.com/kinform/kinform/with/kubernetes/core"
	"github.com/kinform/kinform/with/kubernetes/events"
)

// TestSchedules runs two replicas on bad days: both crash and lose the Lease, and the Backup and its references change.
// No Job begins twice, and each deleted Backup is cleaned up while it is there, and not before it is deleted.
func TestSchedules(t *testing.T) {
	stage.BadDays(t, 6, 300, schedule)
}

// journal is what happened on a day.
type journal struct {
	*stage.Stage
	t *testing.T

	mu      sync.Mutex
	begun   map[kinform.Key]int // Jobs that were created
	cleaned map[types.UID]int
}

// seen counts the Jobs.
func (j *journal) seen(x fake.Exchange) {
	if x.Verb == faults.VerbCreate && x.Resource == batch.Jobs.GroupResource() && x.Code == http.StatusCreated {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.begun[x.Key]++
	}
}

// run is a replica.
func (j *journal) run(ctx context.Context, server client.Connection) error {
	return backup.New(server, "backups", j.cleanup).Run(ctx)
}

func (j *journal) cleanup(_ context.Context, b *backup.Backup) error {
	there, err := fake.Get[*backup.Backup](j.Server, kinform.Key{Namespace: b.Namespace, Name: b.Name})
	if err != nil || there.UID != b.UID || there.DeletionTimestamp == nil {
		j.t.Errorf("cleanup of %s, and there is %v, %v", b.UID, there, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.cleaned[b.UID]++
	return nil
}

// schedule is one bad day.
func schedule(t *testing.T, seed uint64) *stage.Stage {
	j := &journal{t: t, begun: map[kinform.Key]int{}, cleaned: map[types.UID]int{}}
	random := rand.New(rand.NewPCG(seed, 0))
	j.Stage = stage.New(t, fake.Options{CollectGarbage: true, Seen: j.seen}, j.run, stage.Kind(backup.Backups), stage.Kind(batch.Jobs),
		stage.Kind(core.ConfigMaps), stage.Kind(core.Secrets), stage.Kind(coordination.Leases), stage.Kind(events.Events))
	other := stage.New(t, fake.Options{}, func(ctx context.Context, server client.Connection) error { return j.run(ctx, j.Lend(server)) })
	j.BadDay(seed * 1000)
	other.BadDay(seed*1000 + 500)

	stage.Create(j.Stage, fake.Object(&corev1.Secret{}, login.Namespace, login.Name))
	stage.Create(j.Stage, fake.Object(&corev1.ConfigMap{}, disks.Namespace, disks.Name))
	create := func() *backup.Backup {
		return stage.Create(j.Stage, fake.Object(&backup.Backup{Spec: backup.BackupSpec{
			Image: "dump:0", Every: metav1.Duration{Duration: 30 * time.Minute},
			Settings: backup.Reference(disks), Credentials: backup.Reference(login),
		}}, nightly.Namespace, nightly.Name))
	}
	first := create()
	for change := range 8 {
		time.Sleep(time.Duration(random.IntN(300_000)) * time.Millisecond)
		switch random.IntN(5) {
		case 0:
			stage.Patch[*corev1.ConfigMap](j.Stage, disks, fmt.Sprintf(`{"data":{"disk":"%d"}}`, change))
		case 1:
			stage.Patch[*corev1.Secret](j.Stage, login, fmt.Sprintf(`{"metadata":{"labels":{"change":"%d"}}}`, change))
		case 2:
			stage.Patch[*backup.Backup](j.Stage, nightly, fmt.Sprintf(`{"spec":{"image":"dump:%d"}}`, change+1))
		case 3:
			j.Stop()
			j.Start()
		case 4:
			j.Server.DropWatches()
		}
	}
	other.Stop()
	j.GoodDay()
	j.wantJob(first)
	if len(j.cleaned) > 0 {
		t.Errorf("cleanups %v before a deletion", j.cleaned)
	}

	j.BadDay(seed*1000 + 250)
	other.Start()
	stage.Delete[*backup.Backup](j.Stage, nightly)
	time.Sleep(time.Duration(random.IntN(300)) * time.Second)
	var second *backup.Backup
	if _, err := fake.Get[*backup.Backup](j.Server, nightly); apierrors.IsNotFound(err) {
		second = create()
		time.Sleep(time.Duration(random.IntN(300)) * time.Second)
	}
	other.Stop()
	j.GoodDay()
	if j.cleaned[first.UID] == 0 || len(j.cleaned) > 1 {
		t.Errorf("cleanups %v, want those of %s", j.cleaned, first.UID)
	}
	if second != nil {
		j.wantJob(second)
	}
	for key, n := range j.begun {
		if n > 1 {
			t.Errorf("%s began %d times", key, n)
		}
	}
	t.Logf("%d Jobs, cleanups %v", len(j.begun), j.cleaned)
	return j.Stage
}

// wantJob checks that a Backup has one Job, the newest, and no other has any.
func (j *journal) wantJob(b *backup.Backup) {
	j.t.Helper()
	jobs, err := fake.List[*batchv1.Job](j.Server, fake.Selection{})
	j.Check(err)
	now := stage.Get[*backup.Backup](j.Stage, nightly)
	begun := j.begun[kinform.Key{Namespace: nightly.Namespace, Name: now.Status.Job}]
	alone := len(jobs) == 1 && metav1.IsControlledBy(jobs[0], b) && jobs[0].Name == now.Status.Job && begun == 1
	conditions := now.Status.Conditions
	if !alone || len(conditions) != 1 || conditions[0].Reason != "Running" {
		j.t.Errorf("%d Jobs, begun %v, the status is %v", len(jobs), j.begun, now.Status)
	}
}
