package pods

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// makeAll returns n pods in shuffled order.
func makeAll(n int, seed uint64) []*corev1.Pod {
	random := rand.New(rand.NewPCG(seed, 1))
	all := make([]*corev1.Pod, n)
	for i := range all {
		p := describe(i, n, random)
		p.ResourceVersion = strconv.Itoa(i + 1)
		all[i] = decoded(p)
	}
	random = rand.New(rand.NewPCG(seed, 2))
	random.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// decoded returns p as a client gets it from a server: it shares no string with another
// pod, and its memory is laid out as a decoder does it.
func decoded(p *corev1.Pod) *corev1.Pod {
	bytes, err := p.Marshal()
	if err != nil {
		panic(err) // it is our own pod
	}
	out := &corev1.Pod{}
	if err := out.Unmarshal(bytes); err != nil {
		panic(err)
	}
	return out
}

func describe(i, n int, random *rand.Rand) *corev1.Pod {
	app := appName(i / PerApp % count(n, PerApp))
	set := fmt.Sprintf("%s-%08x%02x", app, uint32(i/PerApp)*2654435761, i/PerApp%251)
	started := metav1.NewTime(time.Unix(1_750_000_000+random.Int64N(10_000_000), 0).UTC())
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         "team-" + strconv.Itoa(i/PerNamespace%count(n, PerNamespace)),
			Name:              fmt.Sprintf("%s-%05x", set, i),
			GenerateName:      set + "-",
			UID:               uid(random),
			Generation:        1,
			CreationTimestamp: started,
			Labels: map[string]string{
				AppLabel:                       app,
				"app.kubernetes.io/managed-by": "Helm",
				"app.kubernetes.io/version":    fmt.Sprintf("v1.%d.%d", random.IntN(40), random.IntN(20)),
				"pod-template-hash":            set[len(set)-10:],
			},
			Annotations: map[string]string{
				"checksum/config":      fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64()),
				"prometheus.io/scrape": "true",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: set, UID: uid(random),
				Controller: new(true), BlockOwnerDeletion: new(true),
			}},
		},
		Spec: spec(app, nodeName(i*7919%count(n, PerNode)), random),
	}
	p.Status = status(&p.Spec, started, random)
	return p
}

func spec(app, node string, random *rand.Rand) corev1.PodSpec {
	return corev1.PodSpec{
		Containers:                    []corev1.Container{container(app, random)},
		NodeName:                      node,
		ServiceAccountName:            app,
		RestartPolicy:                 corev1.RestartPolicyAlways,
		DNSPolicy:                     corev1.DNSClusterFirst,
		SchedulerName:                 corev1.DefaultSchedulerName,
		TerminationGracePeriodSeconds: new(int64(30)),
		EnableServiceLinks:            new(true),
		Priority:                      new(int32(0)),
		SecurityContext:               &corev1.PodSecurityContext{RunAsNonRoot: new(true)},
		Tolerations: []corev1.Toleration{
			{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: new(int64(300))},
			{Key: "node.kubernetes.io/unreachable", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: new(int64(300))},
		},
	}
}

func container(app string, random *rand.Rand) corev1.Container {
	return corev1.Container{
		Name:                     app,
		Image:                    fmt.Sprintf("registry.example.com/%s:v1.%d", app, random.IntN(100)),
		Args:                     []string{"--config=/etc/" + app + "/config.yaml", "--v=2"},
		Ports:                    []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
		Env:                      []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "info"}},
		VolumeMounts:             []corev1.VolumeMount{{Name: "config", MountPath: "/etc/" + app, ReadOnly: true}},
		ImagePullPolicy:          corev1.PullIfNotPresent,
		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}
}

func status(s *corev1.PodSpec, started metav1.Time, random *rand.Rand) corev1.PodStatus {
	ip := fmt.Sprintf("10.%d.%d.%d", random.IntN(256), random.IntN(256), random.IntN(256))
	out := corev1.PodStatus{
		Phase: corev1.PodRunning, QOSClass: corev1.PodQOSBestEffort,
		HostIP: "10.0.0.17", PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, StartTime: &started,
	}
	for _, kind := range []corev1.PodConditionType{"Ready", "PodScheduled"} {
		out.Conditions = append(out.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: started})
	}
	for _, c := range s.Containers {
		out.ContainerStatuses = append(out.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: fmt.Sprintf("sha256:%016x%016x", random.Uint64(), random.Uint64()),
			ContainerID: fmt.Sprintf("containerd://%016x%016x", random.Uint64(), random.Uint64()),
			Ready:       true, Started: new(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}},
		})
	}
	return out
}

func uid(random *rand.Rand) types.UID {
	return types.UID(fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", random.Uint32(), random.Uint32()&0xffff,
		random.Uint32()&0xfff, random.Uint32()&0xffff, random.Uint64()&0xffffffffffff))
}
