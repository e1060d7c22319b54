package backup_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/backup"
	"github.com/kinform/kinform/examples/internal/stage"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/with/kubernetes/batch"
	"github.com/kinform/kinform/with/kubernetes/coordination"
	"github.com/kinform/kinform/with/kubernetes/core"
	"github.com/kinform/kinform/with/kubernetes/events"
)

// TestExplore looks for a schedule in which two replicas do not do what users want. The Backup and its references change,
// and it is deleted and made again. Each deleted Backup is cleaned up while it is there, and not before it is deleted.
func TestExplore(t *testing.T) {
	stage.Explore(t, 80, func() sim.Program {
		server := stage.Server(fake.Options{CollectGarbage: true}, stage.Kind(backup.Backups), stage.Kind(batch.Jobs),
			stage.Kind(core.ConfigMaps), stage.Kind(core.Secrets), stage.Kind(coordination.Leases), stage.Kind(events.Events))
		cleaned, early := map[types.UID]int{}, error(nil)
		cleanup := func(_ context.Context, b *backup.Backup) error {
			there, err := fake.Get[*backup.Backup](server, kinform.Key{Namespace: b.Namespace, Name: b.Name})
			if err != nil || there.UID != b.UID || there.DeletionTimestamp == nil {
				early = fmt.Errorf("cleanup of %s, and there is %v, %v", b.UID, there, err)
			}
			cleaned[b.UID]++
			return nil
		}
		create := stage.Created(fake.Object(&backup.Backup{Spec: backup.BackupSpec{
			Image: "dump:0", Every: metav1.Duration{Duration: 30 * time.Minute},
			Settings: backup.Reference(disks), Credentials: backup.Reference(login),
		}}, nightly.Namespace, nightly.Name))
		return sim.Program{
			Server:   server,
			Replicas: 2,
			Run:      func(ctx context.Context, to client.Connection) error { return backup.New(to, "backups", cleanup).Run(ctx) },
			Users: stage.Users(
				create,
				stage.Created(fake.Object(&corev1.Secret{}, login.Namespace, login.Name)),
				stage.Created(fake.Object(&corev1.ConfigMap{}, disks.Namespace, disks.Name)),
				stage.Patched[*corev1.Secret](login, `{"metadata":{"labels":{"change":"1"}}}`),
				stage.Patched[*backup.Backup](nightly, `{"spec":{"image":"dump:1"}}`),
				stage.Deleted[*backup.Backup](nightly), create,
			),
			Finally: func(*sim.World) error {
				if early != nil || len(cleaned) != 1 {
					return fmt.Errorf("cleanups %v, want those of one Backup; %w", cleaned, early)
				}
				return nil
			},
		}
	})
}
