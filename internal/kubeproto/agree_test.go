package kubeproto

import (
	"fmt"
	"math/rand"
	"reflect"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// generated is a type of apimachinery, with its own encoder and decoder. The types of k8s.io/api
// are compared in bench/decode, because this module does not depend on it.
type generated interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// samples makes random values of some of apimachinery's types.
var samples = map[string]func(*rand.Rand) generated{
	"ObjectMeta":                func(r *rand.Rand) generated { return randomMeta(r) },
	"PartialObjectMetadata":     func(r *rand.Rand) generated { return &metav1.PartialObjectMetadata{ObjectMeta: *randomMeta(r)} },
	"PartialObjectMetadataList": func(r *rand.Rand) generated { return randomList(r) },
	"ListMeta":                  func(r *rand.Rand) generated { return randomListMeta(r) },
	"Status":                    func(r *rand.Rand) generated { return randomStatus(r) },
	"APIResource": func(r *rand.Rand) generated {
		return &metav1.APIResource{Name: word(r), Verbs: words2(r), Categories: words2(r), Namespaced: r.Intn(2) == 0}
	},
	"LabelSelector": func(r *rand.Rand) generated {
		return &metav1.LabelSelector{MatchLabels: table(r), MatchExpressions: some(r, func(r *rand.Rand) metav1.LabelSelectorRequirement {
			return metav1.LabelSelectorRequirement{Key: word(r), Operator: "In", Values: words2(r)}
		})}
	},
	"Unknown": func(r *rand.Rand) generated {
		return &runtime.Unknown{TypeMeta: runtime.TypeMeta{Kind: word(r)}, Raw: []byte(word(r)), ContentType: word(r)}
	},
}

func word(r *rand.Rand) string {
	return [...]string{"", "a", "app.kubernetes.io/name", strconv.Itoa(r.Intn(1000))}[r.Intn(4)]
}

func words2(r *rand.Rand) []string { return some(r, word) }

// some returns nil or up to three values.
func some[T any](r *rand.Rand, make func(*rand.Rand) T) []T {
	var out []T
	for range r.Intn(4) {
		out = append(out, make(r))
	}
	return out
}

func table(r *rand.Rand) map[string]string {
	var out map[string]string
	for range r.Intn(4) {
		if out == nil {
			out = map[string]string{}
		}
		out[word(r)] = word(r)
	}
	return out
}

func maybe[T any](r *rand.Rand, v T) *T {
	if r.Intn(2) == 0 {
		return nil
	}
	return &v
}

func randomTime(r *rand.Rand) metav1.Time {
	if r.Intn(3) == 0 {
		return metav1.Time{}
	}
	return metav1.NewTime(time.Unix(r.Int63n(1<<33)-1<<32, r.Int63n(1e9)))
}

func randomMeta(r *rand.Rand) *metav1.ObjectMeta {
	return &metav1.ObjectMeta{
		Name: word(r), GenerateName: word(r), Namespace: word(r), UID: types.UID(word(r)), ResourceVersion: word(r),
		Generation: r.Int63() - r.Int63(), CreationTimestamp: randomTime(r), DeletionTimestamp: maybe(r, randomTime(r)),
		DeletionGracePeriodSeconds: maybe(r, r.Int63()), Labels: table(r), Annotations: table(r), Finalizers: words2(r),
		OwnerReferences: some(r, func(r *rand.Rand) metav1.OwnerReference {
			return metav1.OwnerReference{Kind: word(r), Name: word(r), Controller: maybe(r, r.Intn(2) == 0)}
		}),
		ManagedFields: some(r, func(r *rand.Rand) metav1.ManagedFieldsEntry {
			return metav1.ManagedFieldsEntry{Manager: word(r), Time: maybe(r, randomTime(r)), FieldsV1: metav1.NewFieldsV1(word(r))}
		}),
	}
}

func randomListMeta(r *rand.Rand) *metav1.ListMeta {
	return &metav1.ListMeta{ResourceVersion: word(r), Continue: word(r), RemainingItemCount: maybe(r, r.Int63())}
}

func randomList(r *rand.Rand) *metav1.PartialObjectMetadataList {
	return &metav1.PartialObjectMetadataList{ListMeta: *randomListMeta(r),
		Items: some(r, func(r *rand.Rand) metav1.PartialObjectMetadata {
			return metav1.PartialObjectMetadata{ObjectMeta: *randomMeta(r)}
		})}
}

func randomStatus(r *rand.Rand) *metav1.Status {
	s := &metav1.Status{ListMeta: *randomListMeta(r), Status: word(r), Message: word(r), Code: r.Int31()}
	if r.Intn(2) == 0 {
		s.Details = &metav1.StatusDetails{Name: word(r), RetryAfterSeconds: r.Int31(), Causes: some(r, func(r *rand.Rand) metav1.StatusCause {
			return metav1.StatusCause{Type: metav1.CauseType(word(r)), Field: word(r)}
		})}
	}
	return s
}

func fresh(v generated) generated {
	return reflect.New(reflect.TypeOf(v).Elem()).Interface().(generated)
}

// TestAgreesWithGeneratedCode decodes random values, whole and corrupted, with both.
func TestAgreesWithGeneratedCode(t *testing.T) {
	strings := NewStrings(64)
	for name, sample := range samples {
		plan, err := Compile(reflect.TypeOf(sample(rand.New(rand.NewSource(1)))))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		refused := 0
		for seed := range int64(300) {
			r := rand.New(rand.NewSource(seed))
			v := sample(r)
			data, err := v.Marshal()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			requireAgreement(t, fmt.Sprintf("%s, seed %d", name, seed), plan, v, data, Options{Strings: strings})
			requireAgreement(t, fmt.Sprintf("%s, seed %d, strings in place", name, seed), plan, v, data, Options{Alias: true})
			if len(data) == 0 {
				continue
			}
			for range 20 {
				data[r.Intn(len(data))] ^= 1 << r.Intn(8)
				if !requireAgreement(t, fmt.Sprintf("%s, seed %d, corrupted", name, seed), plan, v, data, Options{Alias: seed%2 == 0}) {
					refused++
				}
			}
		}
		if refused == 0 {
			t.Errorf("%s: nothing was refused", name)
		}
	}
}

// requireAgreement fails unless both decoders refuse data or get the same from it. It
// returns whether they got something.
func requireAgreement(t testing.TB, name string, plan *Plan, like generated, data []byte, o Options) bool {
	t.Helper()
	got, want := fresh(like), fresh(like)
	err, wantErr := plan.Decode(data, got, o), want.Unmarshal(data)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s: error %v, of the generated code %v\n%x", name, err, wantErr, data)
	}
	if err == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: got\n%+v\nwant\n%+v\n%x", name, got, want, data)
	}
	return err == nil
}
