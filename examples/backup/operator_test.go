package backup_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/backup"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/with/kubernetes/batch"
	"github.com/kinform/kinform/with/kubernetes/coordination"
	"github.com/kinform/kinform/with/kubernetes/core"
	"github.com/kinform/kinform/with/kubernetes/events"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	nightly = kinform.Key{Namespace: "prod", Name: "nightly"}
	disks   = kinform.Key{Namespace: "shared", Name: "disks"}
	login   = kinform.Key{Namespace: "vault", Name: "login"}
)

// world is a server in memory. Replicas of the operator work on it. Make one inside a synctest bubble.
type world struct {
	t      *testing.T
	server *fake.Server

	mu      sync.Mutex
	cleaned map[types.UID]int // how often Backups were cleaned up
}

func newWorld(t *testing.T, opts fake.Options) *world {
	opts.CollectGarbage = true
	server, err := newServer(opts)
	w := &world{t: t, server: server, cleaned: map[types.UID]int{}}
	w.check(err)
	return w
}

// newServer returns a server with all that the operator uses.
func newServer(opts fake.Options) (*fake.Server, error) {
	server := fake.New(opts)
	return server, errors.Join(
		fake.Register(server, backup.Backups, fake.Rules{}),
		fake.Register(server, batch.Jobs, fake.Rules{}),
		fake.Register(server, core.ConfigMaps, fake.Rules{}),
		fake.Register(server, core.Secrets, fake.Rules{}),
		fake.Register(server, coordination.Leases, fake.Rules{}),
		fake.Register(server, events.Events, fake.Rules{}),
	)
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// replica is a process with the operator.
type replica struct {
	t     *testing.T
	next  http.RoundTripper
	apart atomic.Bool // it does not reach the server any more
	slow  atomic.Bool // its creates of Jobs take their time, and arrived is called when they arrive
	end   context.CancelFunc
	ended chan error

	arrived func()
}

// start starts a replica, which leads after a minute if no other does.
func (w *world) start() *replica {
	r := &replica{t: w.t, next: w.server.Client().Transport, ended: make(chan error, 1)}
	ctx, end := context.WithCancel(context.Background())
	r.end = end
	m := backup.New(client.Connection{URL: fake.URL, HTTP: &http.Client{Transport: r}}, "backups", w.cleanup)
	go func() { r.ended <- m.Run(ctx) }()
	time.Sleep(time.Minute)
	synctest.Wait()
	return r
}

// stop stops the replica, and returns the result of Run.
func (r *replica) stop() error {
	r.end()
	return <-r.ended
}

// RoundTrip fails the test if a request asks for more of Secrets than the metadata.
func (r *replica) RoundTrip(request *http.Request) (*http.Response, error) {
	accept := request.Header.Get("Accept")
	if strings.Contains(request.URL.Path, "/secrets") && !strings.Contains(accept, "as=PartialObjectMetadata") {
		r.t.Errorf("%s %s asks for %q", request.Method, request.URL, accept)
	}
	if r.apart.Load() {
		return nil, errors.New("no route to host")
	}
	if r.slow.Load() && request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/jobs") {
		return r.late(request)
	}
	return r.next.RoundTrip(request)
}

// late sends a request that arrives after three seconds, even if nobody waits for the answer any more.
func (r *replica) late(request *http.Request) (*http.Response, error) {
	ctx, answered := request.Context(), make(chan struct{})
	var answer *http.Response
	var err error
	time.AfterFunc(3*time.Second, func() {
		defer close(answered)
		r.arrived()
		answer, err = r.next.RoundTrip(request.WithContext(context.WithoutCancel(ctx)))
	})
	select {
	case <-answered:
		return answer, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *world) cleanup(_ context.Context, b *backup.Backup) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cleaned[b.UID]++
	return nil
}

// create makes the Backup and its Secret.
func (w *world) create(every time.Duration) *backup.Backup {
	w.t.Helper()
	_, err := fake.Create(w.server, fake.Object(&corev1.Secret{Data: map[string][]byte{"key": []byte("1")}}, login.Namespace, login.Name))
	w.check(err)
	b, err := fake.Create(w.server, fake.Object(&backup.Backup{Spec: backup.BackupSpec{
		Image:       "dump:1",
		Every:       metav1.Duration{Duration: every},
		Settings:    backup.Reference(disks),
		Credentials: backup.Reference(login),
	}}, nightly.Namespace, nightly.Name))
	w.check(err)
	return b
}

// createSettings makes the ConfigMap.
func (w *world) createSettings() {
	w.t.Helper()
	_, err := fake.Create(w.server, fake.Object(&corev1.ConfigMap{Data: map[string]string{"disk": "a"}}, disks.Namespace, disks.Name))
	w.check(err)
}

// patch changes an object by a merge patch, as a user does.
func patch[T metav1.Object](w *world, key kinform.Key, merge string) {
	w.t.Helper()
	_, err := fake.Patch[T](w.server, key, []byte(merge))
	w.check(err)
}

// settle gives the operator ten seconds.
func (w *world) settle() {
	time.Sleep(10 * time.Second)
	synctest.Wait()
}

// want checks the reason of the condition, and that the Job of the status is the only one, which it returns.
func (w *world) want(reason string) *batchv1.Job {
	w.t.Helper()
	w.settle()
	b, err := fake.Get[*backup.Backup](w.server, nightly)
	w.check(err)
	if len(b.Status.Conditions) != 1 || b.Status.Conditions[0].Reason != reason {
		w.t.Errorf("conditions %v, want %s", b.Status.Conditions, reason)
	}
	jobs, err := fake.List[*batchv1.Job](w.server, fake.Selection{})
	w.check(err)
	if len(jobs) != 1 || jobs[0].Name != b.Status.Job {
		w.t.Fatalf("%d jobs, the status has %q", len(jobs), b.Status.Job)
	}
	return jobs[0]
}

// setStatus writes the status of a Job, as the cluster does.
func (w *world) setStatus(job *batchv1.Job, status batchv1.JobStatus) {
	w.t.Helper()
	job, err := fake.Get[*batchv1.Job](w.server, kinform.Key{Namespace: job.Namespace, Name: job.Name})
	w.check(err)
	job = job.DeepCopy()
	job.Status = status
	_, err = fake.UpdateStatus(w.server, job)
	w.check(err)
}

// ended is the status of a Job with a condition.
func ended(condition batchv1.JobConditionType, is corev1.ConditionStatus) batchv1.JobStatus {
	return batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: condition, Status: is}}}
}

// jobsCreated returns how many creates of Jobs the operator has sent.
func (w *world) jobsCreated() int {
	return w.server.Requests().Count(faults.VerbCreate, batch.Jobs.GroupResource())
}

// A Backup waits for what it refers to, runs, and runs again when that changes.
func TestBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fake.Options{})
		r := w.start()
		w.create(30 * 24 * time.Hour)
		w.settle()
		if b, err := fake.Get[*backup.Backup](w.server, nightly); err != nil || len(b.Status.Conditions) != 1 || b.Status.Conditions[0].Reason != "NoSettings" {
			t.Errorf("without settings: %+v, %v", b, err)
		}
		w.createSettings()
		first := w.want("Running")
		patch[*corev1.ConfigMap](w, disks, `{"data":{"disk":"b"}}`)
		second := w.want("Running")
		patch[*corev1.Secret](w, login, `{"data":{"key":"Mg=="}}`)
		third := w.want("Running")
		if env := third.Spec.Template.Spec.Containers[0].Env; len(env) != 2 || env[0].Value != "shared/disks" || env[1].Value != "vault/login" {
			t.Errorf("the environment is %v", env)
		}
		patch[*backup.Backup](w, nightly, `{"spec":{"image":"dump:2"}}`)
		fourth := w.want("Running")
		names := []string{first.Name, second.Name, third.Name, fourth.Name}
		slices.Sort(names)
		if different := slices.Compact(names); len(different) != 4 {
			t.Errorf("jobs %q", different)
		}
		w.setStatus(fourth, batchv1.JobStatus{Failed: 1})
		w.want("Running") // it tries again
		w.setStatus(fourth, ended(batchv1.JobFailed, corev1.ConditionFalse))
		w.want("Running")
		w.setStatus(fourth, ended(batchv1.JobFailed, corev1.ConditionTrue))
		w.want("Failed")
		w.setStatus(fourth, ended(batchv1.JobComplete, corev1.ConditionTrue))
		w.want("Complete")
		recorded, err := fake.List[*eventsv1.Event](w.server, fake.Selection{})
		w.check(err)
		var reasons []string
		for _, event := range recorded {
			reasons = append(reasons, event.Reason)
		}
		slices.Sort(reasons)
		if want := []string{"Started", "Started", "Started", "Started"}; !slices.Equal(reasons, want) {
			t.Errorf("events %q, want %q", reasons, want)
		}
		w.check(r.stop())
	})
}

// The user learns why the server refuses a Job. The operator tries again.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fake.Options{})
		bad, err := faults.Parse("refuse create jobs.batch code=403 reason=Forbidden times=all")
		w.check(err)
		w.check(w.server.Inject(bad...))
		r := w.start()
		w.createSettings()
		w.create(24 * time.Hour)
		w.settle()
		b, err := fake.Get[*backup.Backup](w.server, nightly)
		if err != nil || len(b.Status.Conditions) != 1 || b.Status.Conditions[0].Reason != "Forbidden" {
			t.Errorf("refused: %+v, %v", b, err)
		}
		recorded, err := fake.List[*eventsv1.Event](w.server, fake.Selection{})
		if err != nil || len(recorded) != 1 || recorded[0].Reason != "Refused" {
			t.Errorf("events %+v, %v", recorded, err)
		}
		w.server.ClearFaults()
		time.Sleep(time.Minute) // it is tried again
		w.want("Running")
		w.check(r.stop())
	})
}

// At each turn of the schedule another Job begins, although the one before is not complete, even if the
// operator was away at the time.
func TestSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fake.Options{})
		w.createSettings()
		begin := w.create(10 * time.Minute).CreationTimestamp
		at := func(age time.Duration) { time.Sleep(time.Until(begin.Add(age))) }
		r := w.start()
		names := []string{w.want("Running").Name}
		for turn := range 4 {
			next := time.Duration(turn+1) * 10 * time.Minute
			if turn == 2 {
				w.check(r.stop())
				at(next + time.Minute)
				r = w.start()
			} else {
				at(next - 30*time.Second)
				if job := w.want("Running"); job.Name != names[len(names)-1] {
					t.Errorf("%s begins before its turn", job.Name)
				}
			}
			at(next + 3*time.Minute)
			names = append(names, w.want("Running").Name)
		}
		slices.Sort(names)
		if different := slices.Compact(names); len(different) != 5 || w.jobsCreated() != 5 {
			t.Errorf("jobs %q, %d creates", different, w.jobsCreated())
		}
		w.check(r.stop())
	})
}

// What was saved is removed once when a Backup is deleted, and its Job goes with it.
func TestDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fake.Options{})
		r := w.start()
		w.createSettings()
		uid := w.create(24 * time.Hour).UID
		w.want("Running")
		w.wantDeletion(uid)
		w.check(r.stop())
	})
}

// wantDeletion deletes the Backup, and checks that nothing is left.
func (w *world) wantDeletion(uid types.UID) {
	w.t.Helper()
	_, err := fake.Delete[*backup.Backup](w.server, nightly)
	w.check(err)
	w.settle()
	backups, err := fake.List[*backup.Backup](w.server, fake.Selection{})
	w.check(err)
	jobs, err := fake.List[*batchv1.Job](w.server, fake.Selection{})
	w.check(err)
	if len(backups) > 0 || len(jobs) > 0 || w.cleaned[uid] != 1 {
		w.t.Errorf("%d Backups and %d Jobs are left, and %d cleanups were made", len(backups), len(jobs), w.cleaned[uid])
	}
}

// When the replica that leads goes, in good order or cut off from the server, the other one takes over. Nothing is done
// twice.
func TestTakeover(t *testing.T) {
	for name, leave := range map[string]func(*world, *replica){
		"stopped": func(w *world, r *replica) { w.check(r.stop()) },
		"cut off": func(_ *world, r *replica) { r.apart.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, fake.Options{})
				w.createSettings()
				uid := w.create(10 * time.Minute).UID
				first, second := w.start(), w.start()
				before := w.want("Running")
				leave(w, first)
				time.Sleep(10 * time.Minute)
				if after := w.want("Running"); after.Name == before.Name || w.jobsCreated() != 2 {
					t.Errorf("%s after %s, %d creates", after.Name, before.Name, w.jobsCreated())
				}
				w.wantDeletion(uid)
				w.check(second.stop())
				first.end()
			})
		})
	}
}

// A write that a stop cuts off may still arrive. The Lease is kept until that is over, so no other replica leads then.
func TestLateWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, fake.Options{})
		w.createSettings()
		w.create(10 * time.Minute)
		holder := func() string {
			lease, err := fake.Get[*coordinationv1.Lease](w.server, kinform.Key{Namespace: "backups", Name: "backups.example.com"})
			w.check(err)
			return *lease.Spec.HolderIdentity
		}
		first, second := w.start(), w.start()
		w.want("Running")
		leads, late := holder(), 0
		first.arrived = func() {
			if late++; holder() != leads {
				t.Error("a write arrives when its replica has given the Lease up")
			}
		}
		first.slow.Store(true)
		patch[*corev1.ConfigMap](w, disks, `{"data":{"disk":"b"}}`)
		synctest.Wait()
		w.check(first.stop())
		time.Sleep(time.Minute)
		if w.want("Running"); late != 1 || holder() == leads {
			t.Errorf("%d late writes, and %s leads", late, holder())
		}
		w.check(second.stop())
	})
}
