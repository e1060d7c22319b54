package backup_test

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/with/kubernetes/batch"
)

// TestExplore looks for a schedule in which two replicas do not do what users want.
func TestExplore(t *testing.T) {
	sim.Explore(t, explored, 80)
}

func explored() sim.Program {
	j := &journal{begun: map[kinform.Key]int{}, cleaned: map[types.UID]int{}}
	server, err := newServer(fake.Options{CollectGarbage: true, Seen: j.seen})
	_, secret := fake.Create(server, fake.Object(&corev1.Secret{}, login.Namespace, login.Name))
	if err := errors.Join(err, secret); err != nil {
		panic(err)
	}
	j.server = server
	return sim.Program{
		Server:   server,
		Replicas: 2,
		Run: func(ctx context.Context, to client.Connection) error {
			return backup.New(to, "backups", j.cleanup).Run(ctx)
		},
		Users:   users,
		Always:  func(*sim.World) error { return j.wrong },
		Finally: j.fits,
	}
}

// users create a Backup, its settings a little later, change all, delete the Backup, and make another one of the same name.
func users(w *sim.World) error {
	steps := []func() error{
		func() error {
			return create(w, fake.Object(&backup.Backup{Spec: backup.BackupSpec{
				Image: "dump:0", Every: metav1.Duration{Duration: 24 * time.Hour},
				Settings: backup.Reference(disks), Credentials: backup.Reference(login),
			}}, nightly.Namespace, nightly.Name))
		},
		func() error { return create(w, fake.Object(&corev1.ConfigMap{}, disks.Namespace, disks.Name)) },
		func() error { return change[*corev1.Secret](w, login, `{"metadata":{"labels":{"change":"1"}}}`) },
		func() error { return change[*backup.Backup](w, nightly, `{"spec":{"image":"dump:1"}}`) },
		func() error {
			_, err := fake.Delete[*backup.Backup](w.Server, nightly)
			return err
		},
	}
	for _, do := range append(steps, steps[0]) {
		if err := do(); err != nil {
			return err
		}
		w.Wait(10 * time.Second) // no rest: an hour of two replicas has thousands of requests for the Lease
	}
	return nil
}

// create creates an object, once the name is free.
func create[T metav1.Object](w *sim.World, obj T) error {
	for {
		_, err := fake.Create(w.Server, obj)
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		w.Settle()
	}
}

func change[T metav1.Object](w *sim.World, key kinform.Key, merge string) error {
	_, err := fake.Patch[T](w.Server, key, []byte(merge))
	return err
}

// journal is what happened in a schedule.
type journal struct {
	server *fake.Server

	mu      sync.Mutex
	begun   map[kinform.Key]int // Jobs that were created
	cleaned map[types.UID]int
	wrong   error
}

// seen counts the Jobs. None begins twice.
func (j *journal) seen(x fake.Exchange) {
	if x.Verb == faults.VerbCreate && x.Resource == batch.Jobs.GroupResource() && x.Code == http.StatusCreated {
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.begun[x.Key]++; j.begun[x.Key] > 1 {
			j.wrong = fmt.Errorf("%v began twice", x.Key)
		}
	}
}

// cleanup cleans up after a Backup, which must be there, and must be going.
func (j *journal) cleanup(_ context.Context, b *backup.Backup) error {
	there, err := fake.Get[*backup.Backup](j.server, kinform.Key{Namespace: b.Namespace, Name: b.Name})
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil || there.UID != b.UID || there.DeletionTimestamp == nil {
		j.wrong = fmt.Errorf("cleanup of %s, and there is %v, %v", b.UID, there, err)
	}
	j.cleaned[b.UID]++
	return nil
}

// fits says whether the first Backup was cleaned up, if it had a Job, and the second has one, which its status names.
func (j *journal) fits(w *sim.World) error {
	jobs, err := fake.List[*batchv1.Job](w.Server, fake.Selection{})
	now, gone := fake.Get[*backup.Backup](w.Server, nightly)
	if err := errors.Join(err, gone); err != nil {
		return err
	}
	alone := len(jobs) == 1 && metav1.IsControlledBy(jobs[0], now) && jobs[0].Name == now.Status.Job
	if !alone || len(j.cleaned) > 1 || j.cleaned[now.UID] > 0 || len(j.begun) > 1 && len(j.cleaned) == 0 {
		return fmt.Errorf("%d Jobs, begun %v, cleanups %v, the status of %v is %v", len(jobs), j.begun, j.cleaned, now.UID, now.Status)
	}
	return nil
}
