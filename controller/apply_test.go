package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/internal/longtest"
	"github.com/kinform/kinform/kind"
)

// applier is what Apply needs.
type applier[T any] interface {
	Apply(ctx context.Context, config any, opts metav1.ApplyOptions) (T, error)
}

var (
	_ applier[*app] = (*client.Resource[*app])(nil)
	_ applier[*app] = (*controller.Handle[*app])(nil)
)

// app has each kind of field that managed fields tell apart.
type app struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              appSpec `json:"spec"`
}

type appSpec struct {
	Size   int64             `json:"size,omitempty"`
	Args   []string          `json:"args,omitempty"`
	Tags   []string          `json:"tags,omitempty" patchStrategy:"merge"`
	Parts  map[string]string `json:"parts,omitempty"`
	Boxes  []box             `json:"boxes,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Nested *appSpec          `json:"nested,omitempty"`
}

type box struct {
	Name  string `json:"name"`
	Image string `json:"image,omitempty"`
	Size  int    `json:"size,omitempty"`
}

type object = map[string]any

// applies counts the applies that pass through it.
type applies struct {
	*client.Resource[*app]
	n int
}

func (a *applies) Apply(ctx context.Context, config any, opts metav1.ApplyOptions) (*app, error) {
	a.n++
	return a.Resource.Apply(ctx, config, opts)
}

func apps(t testing.TB) *applies {
	t.Helper()
	server := fake.New(fake.Options{})
	k := kind.Of[*app](siteKind.GroupVersion(), "apps")
	if err := fake.Register(server, k, fake.Rules{}); err != nil {
		t.Fatal(err)
	}
	return &applies{Resource: clientOf(t, server, k)}
}

func config(spec object) object {
	return object{"metadata": object{"namespace": "a", "name": "one", "labels": object{"app": "one"}}, "spec": spec}
}

func TestApply(t *testing.T) {
	c := apps(t)
	ctx := t.Context()
	base := func() object {
		return object{
			"size": 1 << 60, "args": []any{"x", "y"}, "tags": []any{"b", "a"}, "parts": object{"p": "1"},
			"boxes": []any{object{"name": "one", "image": "i"}, object{"name": "two"}}, "nested": object{"size": 2},
		}
	}
	with := func(name string, value any) object { s := base(); s[name] = value; return s }
	foreign := func(patch string) func() {
		return func() {
			must(c.Patch(ctx, key{Namespace: "a", Name: "one"}, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{FieldManager: "other"}))(t)
		}
	}
	var current *app
	for _, step := range []struct {
		name    string
		foreign func()
		spec    object
		sent    bool
	}{
		{"missing", nil, base(), true},
		{"the same", nil, base(), false},
		{"another field changed", foreign(`{"spec":{"parts":{"q":"2"},"nested":{"args":["z"]}},"metadata":{"labels":{"b":"2"}}}`), base(), false},
		{"my field changed", foreign(`{"spec":{"size":2}}`), base(), true},
		{"my list changed", foreign(`{"spec":{"args":["y","x"]}}`), base(), true},
		{"my element changed", foreign(`{"spec":{"boxes":[{"name":"one","image":"j"},{"name":"two"}]}}`), base(), true},
		{"my element is gone", foreign(`{"spec":{"boxes":[{"name":"two"}]}}`), base(), true},
		{"my elements in another order", foreign(`{"spec":{"boxes":[{"name":"two"},{"name":"one","image":"i"}]}}`), base(), true},
		{"one element less", nil, with("boxes", []any{object{"name": "one", "image": "i"}}), true},
		{"and again", nil, with("boxes", []any{object{"name": "one", "image": "i"}}), false},
		{"one element more", nil, base(), true},
		{"one field of an element more", nil, with("boxes", []any{object{"name": "one", "image": "i", "size": 1}, object{"name": "two"}}), true},
		{"one field less", nil, base(), true},
		{"one tag less", nil, with("tags", []any{"b"}), true},
		{"one tag more", nil, base(), true},
		{"a value of others becomes mine", nil, with("parts", object{"p": "1", "q": "2"}), true},
		{"a null", nil, with("size", nil), true},
		{"back", nil, base(), true},
		{"at the end", nil, base(), false},
	} {
		if step.foreign != nil {
			step.foreign()
			current = must(c.Get(ctx, key{Namespace: "a", Name: "one"}, metav1.GetOptions{}))(t)
		}
		c.n = 0
		now, sent, err := controller.Apply(ctx, c, current, config(step.spec), "me")
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if sent != step.sent || sent != (c.n == 1) {
			t.Errorf("%s: sent %v by %d requests, want %v", step.name, sent, c.n, step.sent)
		}
		current = now
	}
}

func TestApplyInDoubt(t *testing.T) {
	c := apps(t)
	ctx := t.Context()
	spec := object{"size": 1}
	full := must2(controller.Apply(ctx, c, nil, config(spec), "me"))(t)
	bare := full.DeepCopy()
	bare.ManagedFields = nil
	broken := full.DeepCopy()
	broken.ManagedFields[0].FieldsV1.SetRawBytes([]byte("?"))
	versioned := config(spec)
	versioned["metadata"].(object)["resourceVersion"] = full.ResourceVersion
	older := config(spec)
	older["apiVersion"] = "example.com/v1"
	for name, test := range map[string]struct {
		current *app
		config  any
		manager string
		sent    bool
	}{
		"the same":             {full, config(spec), "me", false},
		"the same version":     {full, older, "me", false},
		"no managed fields":    {bare, config(spec), "me", true},
		"broken fields":        {broken, config(spec), "me", true},
		"another manager":      {full, config(spec), "you", true},
		"a precondition":       {full, versioned, "me", true},
		"typed, all as before": {full, &app{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "one", Labels: map[string]string{"app": "one"}}, Spec: appSpec{Size: 1}}, "me", false},
	} {
		_, sent, err := controller.Apply(ctx, c, test.current, test.config, test.manager)
		if err != nil && name != "a precondition" || sent != test.sent {
			t.Errorf("%s: sent %v: %v", name, sent, err)
		}
	}
	moved := full.DeepCopy()
	moved.ManagedFields[0].APIVersion = "example.com/v1beta1"
	if _, sent, err := controller.Apply(ctx, c, moved, older, "me"); !sent || err != nil {
		t.Errorf("another version: sent %v: %v", sent, err)
	}
	if _, _, err := controller.Apply(ctx, c, full, config(spec), ""); !errors.Is(err, controller.ErrNoManager) || !strings.Contains(err.Error(), "controller: apply of a *controller_test.app: ") {
		t.Error(err)
	}
	for name, bad := range map[string]any{"no JSON": func() {}, "a list": []int{1}, "null": nil} {
		if _, sent, err := controller.Apply(ctx, c, full, bad, "me"); sent || err == nil {
			t.Errorf("%s: sent %v: %v", name, sent, err)
		}
	}
	var number *json.UnsupportedTypeError
	if _, _, err := controller.Apply(ctx, c, full, func() {}, "me"); !errors.As(err, &number) {
		t.Error(err)
	}
}

// After Apply, an apply that is always sent changes nothing, whatever was applied before and
// whatever others wrote. And a second call sends nothing.
func TestApplyRandom(t *testing.T) {
	for seed := range longtest.N[uint64](4, 200) {
		random := rand.New(rand.NewPCG(seed, 1))
		c := apps(t)
		ctx := t.Context()
		var current *app
		skipped := 0
		for step := range 30 {
			spec := randomSpec(random, 2)
			if random.IntN(2) == 0 && current != nil {
				foreign := config(randomSpec(random, 2))
				must(c.Resource.Apply(ctx, foreign, metav1.ApplyOptions{FieldManager: "other", Force: true}))(t)
				current = must(c.Get(ctx, key{Namespace: "a", Name: "one"}, metav1.GetOptions{}))(t)
			}
			now, sent, err := controller.Apply(ctx, c, current, config(spec), "me")
			if err != nil {
				t.Fatal(err)
			}
			if !sent {
				skipped++
			}
			after := must(c.Resource.Apply(ctx, config(spec), metav1.ApplyOptions{FieldManager: "me", Force: true}))(t)
			if after.ResourceVersion != now.ResourceVersion {
				t.Fatalf("seed %d, step %d: the config %v was not applied (sent: %v)\nbefore %+v\nafter %+v", seed, step, spec, sent, now, after)
			}
			if _, sent, err := controller.Apply(ctx, c, now, config(spec), "me"); sent || err != nil {
				t.Fatalf("seed %d, step %d: %v was sent twice: %v\n%+v", seed, step, spec, err, now)
			}
			current = now
		}
		if skipped == 30 {
			t.Errorf("seed %d: nothing was sent", seed)
		}
	}
}

// randomSpec returns one of few specs, so that equal ones follow each other now and then.
func randomSpec(random *rand.Rand, depth int) object {
	spec := object{"size": 1 + random.IntN(2)} // whether an empty object is owned as a whole, nobody can see
	some := func(name string, value func() any) {
		if random.IntN(2) == 0 {
			spec[name] = value()
		}
	}
	few := func(one func(n int) any) func() any {
		return func() any {
			var all []any
			for n := range 3 {
				if random.IntN(2) == 0 {
					all = append(all, one(n))
				}
			}
			if all == nil {
				all = append(all, one(0))
			}
			return all
		}
	}
	some("args", few(func(n int) any { return fmt.Sprint(n) }))
	some("tags", few(func(n int) any { return fmt.Sprint(n) }))
	some("parts", func() any { return object{"p": fmt.Sprint(random.IntN(2)), fmt.Sprint(random.IntN(2)): "q"} })
	some("boxes", few(func(n int) any {
		b := object{"name": fmt.Sprint(n)}
		if random.IntN(2) == 0 {
			b["image"] = fmt.Sprint(random.IntN(2))
		}
		return b
	}))
	if depth > 0 {
		some("nested", func() any { return randomSpec(random, depth-1) })
	}
	return spec
}

func (a *app) DeepCopy() *app {
	c := *a
	c.ObjectMeta = *a.ObjectMeta.DeepCopy()
	c.Spec.Args = slices.Clone(a.Spec.Args)
	return &c
}

func must2[A, B any](a A, _ B, err error) func(testing.TB) A { return must(a, err) }
