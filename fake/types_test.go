package fake_test

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

// The group versions of the tests' kinds.
var (
	v1        = schema.GroupVersion{Version: "v1"}
	exampleV1 = schema.GroupVersion{Group: "example.com", Version: "v1"}
)

// pod stands in for a generated type: it has metadata, a spec and a deep copy.
type pod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              podSpec   `json:"spec"`
	Status            podStatus `json:"status,omitzero"`
}

type podSpec struct {
	Node  string   `json:"node,omitempty"`
	Ports []int64  `json:"ports,omitempty"`
	Args  []string `json:"args,omitempty"`
}

type podStatus struct {
	Phase string `json:"phase,omitempty"`
}

func (p *pod) DeepCopyObject() runtime.Object {
	c := *p
	p.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	c.Spec.Ports = append([]int64(nil), p.Spec.Ports...)
	c.Spec.Args = append([]string(nil), p.Spec.Args...)
	return &c
}

// widget is a custom resource as a user may write it: no TypeMeta, no deep copy, no
// spec, and a field that can hold anything.
type widget struct {
	metav1.ObjectMeta `json:"metadata"`
	Size              int64          `json:"size"`
	Extra             map[string]any `json:"extra,omitempty"`
}

func newPod(namespace, name string) *pod {
	return &pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func key(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// newServer serves pods (v1), widgets (example.com/v1) and, as metadata alone, the
// cluster-scoped nodes (v1).
func newServer(t testing.TB, opts fake.Options) *fake.Server {
	t.Helper()
	s := fake.New(opts)
	check(t, fake.Register(s, kind.Of[*pod](v1, "pods"), fake.Rules{}))
	check(t, fake.Register(s, kind.Of[*widget](exampleV1, "widgets"), fake.Rules{}))
	check(t, fake.Register(s, kind.Of[*metav1.PartialObjectMetadata](v1, "nodes").Named("Node").Cluster(), fake.Rules{}))
	return s
}

// clientOf returns a client of a kind that s serves, for a namespace; "" is for all. It asks once: what s refuses is
// its answer.
func clientOf[T any](t testing.TB, s *fake.Server, k *kind.Kind[T], namespace string) *client.Resource[T] {
	t.Helper()
	conn := client.Connection{URL: fake.URL, HTTP: s.Client(), Retries: -1}
	return must(client.New(conn, k, client.Options{Namespace: namespace}))(t)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must is for calls whose failure the test does not study.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return v
	}
}

// wantStatus checks that err is the API server's refusal of that code and reason.
func wantStatus(t testing.TB, err error, code int32, reason metav1.StatusReason) metav1.Status {
	t.Helper()
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		t.Fatalf("error %v, want a Status of reason %s", err, reason)
	}
	if status.ErrStatus.Code != code || status.ErrStatus.Reason != reason {
		t.Fatalf("status %d %s (%s), want %d %s", status.ErrStatus.Code, status.ErrStatus.Reason, status.ErrStatus.Message, code, reason)
	}
	return status.ErrStatus
}

// statusOf returns what the API server said; zero when it said nothing.
func statusOf(err error) metav1.Status {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status()
	}
	return metav1.Status{}
}
