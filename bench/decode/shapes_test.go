package decode

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/bench/internal/pods"
	"github.com/kinform/kinform/internal/kubeproto"
)

// shapes are objects of several kinds, encoded.
var shapes = []struct {
	name string
	typ  reflect.Type
	make func() [][]byte
}{
	{"pods", reflect.TypeFor[corev1.Pod](), func() [][]byte { return encodePods(pods.List(5000)) }},
	{"fat-pods", reflect.TypeFor[corev1.Pod](), func() [][]byte { return encodePods(pods.Fat(500)) }},
	{"varied-pods", reflect.TypeFor[corev1.Pod](), func() [][]byte { return encodePods(varied(5000, 20)) }},
	{"unique-pods", reflect.TypeFor[corev1.Pod](), func() [][]byte { return encodePods(varied(5000, 1)) }},
	{"secrets", reflect.TypeFor[corev1.Secret](), func() [][]byte { return many(5000, aSecret) }},
	{"nodes", reflect.TypeFor[corev1.Node](), func() [][]byte { return many(500, aNode) }},
	{"endpointslices", reflect.TypeFor[discoveryv1.EndpointSlice](), func() [][]byte { return many(500, aSlice) }},
	{"events", reflect.TypeFor[corev1.Event](), func() [][]byte { return many(5000, anEvent) }},
}

func encodePods(list *corev1.PodList) [][]byte {
	return many(len(list.Items), func(i int) message { return &list.Items[i] })
}

func many[T message](n int, of func(i int) T) (all [][]byte) {
	for i := range n {
		data, err := of(i).Marshal()
		if err != nil {
			panic(err)
		}
		all = append(all, data)
	}
	return all
}

// varied returns pods of applications that each have another shape, with so many pods per application.
func varied(n, replicas int) *corev1.PodList {
	list := pods.List(n)
	for i := range list.Items {
		r := rand.New(rand.NewPCG(uint64(i/replicas), 1))
		p := &list.Items[i]
		for range r.IntN(3) {
			p.Spec.Containers = append(p.Spec.Containers, *p.Spec.Containers[0].DeepCopy())
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, *p.Status.ContainerStatuses[0].DeepCopy())
		}
		for range r.IntN(3) {
			p.Status.Conditions = append(p.Status.Conditions, p.Status.Conditions[0])
		}
		for v := range r.IntN(4) {
			empty := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: fmt.Sprint("v", v), VolumeSource: empty})
		}
		for at := range p.Spec.Containers {
			vary(&p.Spec.Containers[at], at, r)
		}
	}
	return list
}

// vary changes the environment, arguments, probes and rights of a container.
func vary(c *corev1.Container, at int, r *rand.Rand) {
	c.Name = fmt.Sprint(c.Name, at)
	for e := range r.IntN(10) {
		v := corev1.EnvVar{Name: fmt.Sprint("ENV_", e), Value: "value"}
		if r.IntN(3) == 0 {
			v.Value, v.ValueFrom = "", &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "key"}}
		}
		c.Env = append(c.Env, v)
	}
	for a := range r.IntN(5) {
		c.Args = append(c.Args, fmt.Sprint("--flag=", a))
	}
	if r.IntN(2) == 0 {
		c.LivenessProbe = nil
	}
	if r.IntN(3) == 0 {
		drop := &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
		c.SecurityContext = &corev1.SecurityContext{RunAsNonRoot: new(true), Capabilities: drop}
	}
}

// metaOf returns the metadata of object i of a kind. Hundred objects have an owner in common.
func metaOf(kind string, i int) metav1.ObjectMeta {
	at, group := metav1.Unix(1_750_000_000+int64(i), 0), fmt.Sprint("service-", i/100)
	return metav1.ObjectMeta{
		Name:              fmt.Sprintf("%s-%05d", kind, i),
		Namespace:         fmt.Sprint("team-", i/100),
		UID:               types.UID(fmt.Sprintf("%036x", i*7919)),
		ResourceVersion:   fmt.Sprint(i),
		CreationTimestamp: at,
		Labels:            map[string]string{pods.AppLabel: group},
		OwnerReferences:   []metav1.OwnerReference{{APIVersion: "v1", Kind: kind, Name: group, UID: "x", Controller: new(true)}},
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, Time: &at,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{".":{}}}}`),
		}},
	}
}

func aSecret(i int) *corev1.Secret {
	data := map[string][]byte{"token": make([]byte, 200), "ca.crt": make([]byte, 1100)}
	return &corev1.Secret{ObjectMeta: metaOf("secret", i), Type: corev1.SecretTypeOpaque, Data: data}
}

func aNode(i int) *corev1.Node {
	list := corev1.ResourceList{
		"cpu": resource.MustParse("8"), "memory": resource.MustParse("32Gi"), "pods": resource.MustParse("110"),
	}
	n := &corev1.Node{
		ObjectMeta: metaOf("node", i),
		Spec:       corev1.NodeSpec{PodCIDR: "10.0.0.0/24", PodCIDRs: []string{"10.0.0.0/24"}, ProviderID: fmt.Sprint("aws:///", i)},
		Status: corev1.NodeStatus{Capacity: list, Allocatable: list, Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: fmt.Sprint("10.0.0.", i)}, {Type: corev1.NodeHostName, Address: fmt.Sprint("node-", i)},
		}},
	}
	for _, kind := range []corev1.NodeConditionType{"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"} {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: kind, Status: "True", Reason: "KubeletReady"})
	}
	for k := range 50 {
		image := fmt.Sprint("registry.example.com/image-", (i+k)%200)
		names := []string{image + "@sha256:0123456789", image + ":v1"}
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: names, SizeBytes: 1 << 20})
	}
	return n
}

func aSlice(i int) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metaOf("slice", i), AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{{Name: new("http"), Protocol: new(corev1.ProtocolTCP), Port: new(int32(8080))}},
	}
	for k := range 50 {
		uid := types.UID(fmt.Sprintf("%036x", i*100+k))
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{fmt.Sprintf("10.%d.%d.%d", i%256, i/256, k)},
			Conditions: discoveryv1.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(false)},
			NodeName:   new(fmt.Sprint("node-", k)),
			Zone:       new("eu-central-1a"),
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: "team", Name: fmt.Sprint("pod-", i, k), UID: uid},
		})
	}
	return s
}

func anEvent(i int) *corev1.Event {
	at := metav1.Unix(1_750_000_000+int64(i), 0)
	return &corev1.Event{
		ObjectMeta: metaOf("event", i), InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: fmt.Sprint("pod-", i)},
		Reason: "Pulled", Message: fmt.Sprint("Container image was pulled in ", i, "ms"), Type: corev1.EventTypeNormal,
		FirstTimestamp: at, LastTimestamp: at, Count: 1,
	}
}

// BenchmarkShapes decodes objects of several kinds with a plan, without and with shared parts. All objects are kept
// until they come again. Decoding and collecting are measured apart, so that neither depends on when the other runs.
func BenchmarkShapes(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for _, s := range shapes {
		all := s.make()
		b.Run(s.name+"/plain", func(b *testing.B) { measureShape(b, s.typ, all, nil) })
		b.Run(s.name+"/parts", func(b *testing.B) { measureShape(b, s.typ, all, kubeproto.NewParts(1<<16)) })
	}
}

func measureShape(b *testing.B, typ reflect.Type, all [][]byte, parts *kubeproto.Parts) {
	plan, err := kubeproto.Compile(typ)
	if err != nil {
		b.Fatal(err)
	}
	o := kubeproto.Options{Strings: kubeproto.NewStrings(0), Parts: parts}
	keep := make([]any, len(all))
	decode := func() {
		for i, data := range all {
			into := reflect.New(typ).Interface()
			if err := plan.Decode(data, into, o); err != nil {
				b.Fatal(err)
			}
			keep[i] = into
		}
	}
	for range 3 { // for strings and parts to enter
		decode()
	}
	var before, after runtime.MemStats
	var decoding, collecting time.Duration
	var allocs, bytes uint64
	n := 0
	for b.Loop() {
		clear(keep)
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := cpuTime()
		decode()
		decoded := cpuTime()
		runtime.GC()
		decoding, collecting = decoding+decoded-start, collecting+cpuTime()-decoded
		runtime.ReadMemStats(&after)
		allocs, bytes = allocs+after.Mallocs-before.Mallocs, bytes+after.TotalAlloc-before.TotalAlloc
		n += len(all)
	}
	runtime.KeepAlive(keep)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(decoding)/float64(n), "cpu-ns/object")
	b.ReportMetric(float64(collecting)/float64(n), "gc-ns/object")
	b.ReportMetric(float64(allocs)/float64(n), "allocs/object")
	b.ReportMetric(float64(bytes)/float64(n), "B/object")
}
