package client_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
)

var machines = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "machines"}

// machine is tagged as the types of k8s.io/api are, with the kinds of fields that a Pod has.
type machine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec              machineSpec   `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	Status            machineStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

type machineSpec struct {
	Units    []machineUnit     `json:"units,omitempty" protobuf:"bytes,1,rep,name=units"`
	Selector map[string]string `json:"selector,omitempty" protobuf:"bytes,2,rep,name=selector"`
	Grace    *int64            `json:"grace,omitempty" protobuf:"varint,3,opt,name=grace"`
	Since    *metav1.Time      `json:"since,omitempty" protobuf:"bytes,4,opt,name=since"`
	Active   bool              `json:"active,omitempty" protobuf:"varint,5,opt,name=active"`
}

type machineUnit struct {
	Name     string                                `json:"name" protobuf:"bytes,1,opt,name=name"`
	Requests map[machineResource]resource.Quantity `json:"requests,omitempty" protobuf:"bytes,2,rep,name=requests,castkey=machineResource"`
	Port     intstr.IntOrString                    `json:"port" protobuf:"bytes,3,opt,name=port"`
	Args     []string                              `json:"args,omitempty" protobuf:"bytes,4,rep,name=args"`
	Secret   []byte                                `json:"secret,omitempty" protobuf:"bytes,5,opt,name=secret"`
}

type machineStatus struct {
	Started metav1.MicroTime `json:"started" protobuf:"bytes,1,opt,name=started"`
	Phase   machinePhase     `json:"phase,omitempty" protobuf:"bytes,2,opt,name=phase,casttype=machinePhase"`
}

type (
	machineResource string
	machinePhase    string
)

func newMachine(name string) *machine {
	grace := int64(-30)
	return &machine{
		TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Machine"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "ns", ResourceVersion: "7", UID: "u", Labels: map[string]string{"app": "web", "": "é"},
			CreationTimestamp: metav1.Unix(1_700_000_000, 0),
			OwnerReferences:   []metav1.OwnerReference{{APIVersion: "v1", Kind: "Set", Name: "s", UID: "o", Controller: new(bool)}},
		},
		Spec: machineSpec{
			Units: []machineUnit{
				{Name: "a", Port: intstr.FromInt32(8080), Args: []string{"", "-x"}, Requests: map[machineResource]resource.Quantity{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("1Gi")}},
				{Name: "b", Port: intstr.FromString("http"), Secret: []byte{0, 255}},
			},
			Selector: map[string]string{"tier": "front"}, Grace: &grace, Since: &metav1.Time{Time: time.Unix(1_700_000_001, 0)}, Active: true,
		},
		Status: machineStatus{Started: metav1.NewMicroTime(time.Unix(1_700_000_002, 345_000)), Phase: "Running"},
	}
}

// field is a field of a protobuf message: a varint, text, or a message.
func field[V uint64 | string | []byte](num int, v V) []byte {
	switch v := any(v).(type) {
	case uint64:
		return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(num)<<3), v)
	case string:
		return field(num, []byte(v))
	case []byte:
		return append(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(num)<<3|2), uint64(len(v))), v...)
	}
	return nil
}

// Marshal writes the machine as generated code would.
func (m *machine) Marshal() ([]byte, error) {
	var problem error
	encode := func(v interface{ Marshal() ([]byte, error) }) []byte {
		b, err := v.Marshal()
		problem = errors.Join(problem, err)
		return b
	}
	var spec []byte
	for _, u := range m.Spec.Units {
		unit := field(1, u.Name)
		for name, q := range u.Requests {
			unit = append(unit, field(2, append(field(1, string(name)), field(2, encode(&q))...))...)
		}
		unit = append(unit, field(3, encode(&u.Port))...)
		for _, arg := range u.Args {
			unit = append(unit, field(4, arg)...)
		}
		if u.Secret != nil {
			unit = append(unit, field(5, u.Secret)...)
		}
		spec = append(spec, field(1, unit)...)
	}
	for k, v := range m.Spec.Selector {
		spec = append(spec, field(2, append(field(1, k), field(2, v)...))...)
	}
	spec = append(spec, field(3, uint64(*m.Spec.Grace))...)
	spec = append(spec, field(4, encode(m.Spec.Since))...)
	spec = append(spec, field(5, uint64(1))...)
	status := append(field(1, encode(&m.Status.Started)), field(2, string(m.Status.Phase))...)
	return bytes.Join([][]byte{field(1, encode(&m.ObjectMeta)), field(2, spec), field(3, status)}, nil), problem
}

// machineList is a list of them.
type machineList []*machine

func (l machineList) Marshal() ([]byte, error) {
	data := field(1, field(2, "9"))
	for _, m := range l {
		raw, err := m.Marshal()
		if err != nil {
			return nil, err
		}
		data = append(data, field(2, raw)...)
	}
	return data, nil
}

// Objects of a type with the fields of a Pod are the same in every encoding, from every
// call that answers with one.
func TestTypedObjectsInEveryEncoding(t *testing.T) {
	a, b := newMachine("a"), newMachine("b")
	text := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	list1 := `{"kind":"MachineList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"9"},"items":[` + text(a) + "," + text(b) + "]}"
	event := eventJSON("MODIFIED", text(a))
	for name, answer := range map[string]struct {
		object, list, watch       []byte
		contentType, contentWatch string
	}{
		"json": {[]byte(text(a)), []byte(list1), []byte(event + event), "application/json", "application/json"},
		"protobuf": {
			protobufObject(t, "example.com/v1", "Machine", a), protobufObject(t, "example.com/v1", "MachineList", machineList{a, b}),
			bytes.Repeat(protobufEvent(t, "MODIFIED", protobufObject(t, "example.com/v1", "Machine", a)), 2),
			"application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf;stream=watch",
		},
	} {
		t.Run(name, func(t *testing.T) {
			open := func(contentType string, body []byte) *client.Resource[*machine] {
				r, err := client.New(bodiesOf(contentType, body), kind.OfResource[*machine](machines), client.Options{Namespace: "ns"})
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			is := func(call string, got, want *machine, err error) {
				t.Helper()
				if err != nil || !equality.Semantic.DeepEqual(got, want) {
					t.Errorf("%s: %+v, want %+v, %v", call, got, want, err)
				}
			}
			r := open(answer.contentType, answer.object)
			got, err := r.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "a"}, metav1.GetOptions{})
			is("get", got, a, err)
			got, err = r.Create(t.Context(), a, metav1.CreateOptions{})
			is("create", got, a, err)
			got, err = r.Update(t.Context(), a, metav1.UpdateOptions{})
			is("update", got, a, err)

			all := list(t.Context(), open(answer.contentType, answer.list), metav1.ListOptions{})
			if all.err != nil || all.errs != nil || len(all.events) != 2 || all.meta.ResourceVersion != "9" {
				t.Fatal(all)
			}
			is("list", all.events[0].Object, a, nil)
			is("list", all.events[1].Object, b, nil)
			seen := watch(t.Context(), open(answer.contentWatch, answer.watch), metav1.ListOptions{})
			if seen.err != nil || len(seen.events) != 2 {
				t.Fatal(seen)
			}
			is("watch", seen.events[1].Object, a, nil)

			// Cut off anywhere, or of another kind, it is an error.
			for n := 0; n < len(answer.object); n += 7 {
				if _, err := open(answer.contentType, answer.object[:n]).Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "a"}, metav1.GetOptions{}); err == nil {
					t.Fatalf("cut at %d of %d: no error", n, len(answer.object))
				}
			}
			other := bytes.ReplaceAll(answer.object, []byte("Machine"), []byte("Magpies"))
			r, err = client.New(bodiesOf(answer.contentType, other), kind.OfResource[*machine](machines).Named("Machine"), client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Get(t.Context(), types.NamespacedName{Name: "a"}, metav1.GetOptions{}); !errors.Is(err, client.ErrWrongKind) || !strings.Contains(err.Error(), "Magpies") {
				t.Error(err)
			}
		})
	}
}

// The list of a custom resource may be of any kind ("listKind"). Its items tell their own.
func TestListKindOfAnyWord(t *testing.T) {
	const kinded, bare = `{"kind":"Goose","apiVersion":"example.com/v1","metadata":{"name":"a"}}`, `{"metadata":{"name":"b"}}`
	body := func(items ...string) string {
		return `{"kind":"GeeseCollection","apiVersion":"example.com/v1","metadata":{},"items":[` + strings.Join(items, ",") + "]}"
	}
	last := `{"items":[` + bare + "," + kinded + `],"apiVersion":"example.com/v1","kind":"GeeseCollection"}`
	for name, test := range map[string]struct {
		body   string
		option string
		kinds  []string // of what is kept
		errs   int
	}{
		"kinded":               {body(kinded, kinded), "", []string{"Goose", "Goose"}, 0},
		"kinded, then bare":    {body(kinded, bare), "", []string{"Goose", "Goose"}, 0},
		"bare":                 {body(bare), "", nil, 1},
		"bare, with an option": {body(bare, kinded), "Goose", []string{"Goose", "Goose"}, 0},
		"another's option":     {body(kinded), "Duck", nil, 1},
		"kind last":            {last, "Goose", []string{"Goose", "Goose"}, 0},
	} {
		got := list(t.Context(), newNamed[*unstructured.Unstructured](t, bodies(test.body), test.option, client.Options{}), metav1.ListOptions{})
		var kinds []string
		for _, ev := range got.events {
			kinds = append(kinds, ev.Object.GetKind())
		}
		if got.err != nil || strings.Join(kinds, " ") != strings.Join(test.kinds, " ") || len(got.errs) != test.errs {
			t.Errorf("%s: %v, %v, %v", name, kinds, got.errs, got.err)
		}
	}
	// In protobuf only the option tells that it is a list.
	for option, ok := range map[string]bool{"Machine": true, "": false, "Machinery": false} {
		answer := protobufObject(t, "example.com/v1", "Machinery", machineList{newMachine("a")})
		r, err := client.New(bodiesOf("application/vnd.kubernetes.protobuf", answer), kind.OfResource[*machine](machines).Named(option), client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := list(t.Context(), r, metav1.ListOptions{})
		if ok && (got.err != nil || len(got.events) != 1 || got.events[0].Object.Kind != "Machine") || !ok && !errors.Is(got.err, client.ErrWrongKind) {
			t.Errorf("%q: %v", option, got)
		}
	}
	// A typed object does without a kind.
	got := list(t.Context(), newResource[*widget](t, bodies(body(bare)), client.Options{}), metav1.ListOptions{})
	if got.err != nil || len(got.events) != 1 || got.events[0].Object.Kind != "" {
		t.Error(got)
	}
}
