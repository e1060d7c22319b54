package ops

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/with/kubernetes/apps"
	batchkinds "github.com/kinform/kinform/with/kubernetes/batch"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// Program is a whole controller: that of README.md, which writes the number of a node's pods into an annotation of the node, or
// an example.
type Program struct {
	With    string // "kinform", "client-go" or "controller-runtime"
	Example string // the name of another program, without Workers and Kinds
	Objects int    // of that program
	URL     string // of a cluster
	Workers int
	Kinds   int // that it watches, at least nodes and pods
}

// Used is what a program has used since it was last asked.
type Used struct {
	CPU, Wall     time.Duration
	Bytes, Allocs uint64
	Peak          uint64 // resident memory since the start of the process
}

// programs runs one Program. Its methods are calls by the rules of net/rpc, one after the other. The process ends without
// stopping it.
type programs struct {
	calls  atomic.Int64 // of reconcile
	seen   int64        // of those
	cpu    time.Duration
	wall   time.Time
	memory runtime.MemStats
}

// Start starts a program.
func (p *programs) Start(what Program, _ *int) error {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	p.note()
	if what.Example != "" {
		return beginExample(context.Background(), what)
	}
	setLogger()
	begin, ok := map[string]func(context.Context, Program, *atomic.Int64) error{
		"kinform": countWithKinform, "client-go": countWithClientGo, "controller-runtime": countWithControllerRuntime,
	}[what.With]
	if !ok {
		return fmt.Errorf("no program with %q", what.With)
	}
	return begin(context.Background(), what, &p.calls)
}

// Await waits until reconcile has been called n more times since it last returned, and is no longer called. Wall is the time
// to the last of the n calls.
func (p *programs) Await(n int, used *Used) error {
	const look, quiet = 2 * time.Millisecond, 50 * time.Millisecond
	for p.calls.Load() < p.seen+int64(n) {
		time.Sleep(look)
	}
	used.Wall = time.Since(p.wall)
	for p.seen = -1; p.seen != p.calls.Load(); time.Sleep(quiet) {
		p.seen = p.calls.Load()
	}
	return p.use(used)
}

// use says what the process has used since it was last asked.
func (p *programs) use(used *Used) (err error) {
	cpu, memory := p.cpu, p.memory
	p.note()
	used.CPU, used.Bytes, used.Allocs = p.cpu-cpu, p.memory.TotalAlloc-memory.TotalAlloc, p.memory.Mallocs-memory.Mallocs
	used.Peak, err = peakMemory()
	return err
}

func (p *programs) note() {
	runtime.ReadMemStats(&p.memory)
	p.cpu, p.wall = processTime(), time.Now()
}

// peakMemory returns the largest resident memory of the process. getrusage would also count the process that started it.
func peakMemory() (uint64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	number, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	kilobytes, err := strconv.ParseUint(number, 10, 64)
	return kilobytes << 10, err
}

// watched is a kind that a program watches beside nodes and pods.
type watched struct {
	resource schema.GroupVersionResource
	object   ctrl.Object
	register func(*fake.Server) error
	watch    func(client.Connection, *controller.Controller[key])
}

func watchedKind[T ctrl.Object](k *kind.Kind[T], object T) watched {
	return watched{
		resource: k.GroupVersionResource(),
		object:   object,
		register: func(s *fake.Server) error { return fake.Register(s, k, fake.Rules{}) },
		watch: func(server client.Connection, c *controller.Controller[key]) {
			controller.Watch(c, controller.Open(server, k), func(none []key, _ T) []key { return none })
		},
	}
}

// manyKinds begin with nodes and pods.
var manyKinds = []watched{
	watchedKind(core.Nodes, &corev1.Node{}),
	watchedKind(core.Pods, &corev1.Pod{}),
	watchedKind(core.ConfigMaps, &corev1.ConfigMap{}),
	watchedKind(core.Events, &corev1.Event{}),
	watchedKind(core.LimitRanges, &corev1.LimitRange{}),
	watchedKind(core.Namespaces, &corev1.Namespace{}),
	watchedKind(core.PersistentVolumeClaims, &corev1.PersistentVolumeClaim{}),
	watchedKind(core.PersistentVolumes, &corev1.PersistentVolume{}),
	watchedKind(core.PodTemplates, &corev1.PodTemplate{}),
	watchedKind(core.ReplicationControllers, &corev1.ReplicationController{}),
	watchedKind(core.ResourceQuotas, &corev1.ResourceQuota{}),
	watchedKind(core.Secrets, &corev1.Secret{}),
	watchedKind(core.ServiceAccounts, &corev1.ServiceAccount{}),
	watchedKind(core.Services, &corev1.Service{}),
	watchedKind(apps.DaemonSets, &appsv1.DaemonSet{}),
	watchedKind(apps.Deployments, &appsv1.Deployment{}),
	watchedKind(apps.ReplicaSets, &appsv1.ReplicaSet{}),
	watchedKind(apps.StatefulSets, &appsv1.StatefulSet{}),
	watchedKind(batchkinds.CronJobs, &batchv1.CronJob{}),
	watchedKind(batchkinds.Jobs, &batchv1.Job{}),
}

// more returns the kinds that a program watches beside nodes and pods.
func (p Program) more() []watched { return manyKinds[2:p.Kinds] }

// annotate returns the patch of a node.
func annotate(count string) []byte {
	return fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, podsAnnotation, count)
}
