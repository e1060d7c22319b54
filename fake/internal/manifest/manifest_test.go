package manifest_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/manifest"
)

func TestRead(t *testing.T) {
	fsys := fstest.MapFS{
		"m/b.yaml":   {Data: []byte("# nothing\n---\n{apiVersion: v1, kind: Pod, metadata: {uid: u, ownerReferences: [{uid: o}]}}\n")},
		"m/a/c.json": {Data: []byte(`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"apps/v1","kind":"Set"},{"apiVersion":"v1","kind":"Node"}]}`)},
		"m/d.txt":    {Data: []byte("not read")},
	}
	all, err := manifest.Read(fsys, "m")
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	if all[0].Kind.Kind != "Set" || all[1].Kind.Kind != "Node" || all[1].File != "m/a/c.json" || all[1].Document != 1 {
		t.Errorf("list: %+v", all[:2])
	}
	if m := all[2]; m.Document != 2 || m.UID != "u" || len(m.Owners) != 1 || m.Owners[0] != "o" {
		t.Errorf("pod: %+v", m)
	}
	if one, err := manifest.Read(fsys, "m/b.yaml"); err != nil || len(one) != 1 {
		t.Errorf("one file: %+v, %v", one, err)
	}
	if _, err := manifest.Read(fsys, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestParseErrors(t *testing.T) {
	for _, text := range []string{"a: [", "[]", "kind: Pod", "apiVersion: v1", `{"apiVersion":"v1","kind":"List","items":[7]}`} {
		if all, err := manifest.Parse("f", []byte("# one\n---\n"+text)); !errors.Is(err, manifest.ErrInvalid) || !strings.Contains(err.Error(), "f: document 2: ") {
			t.Errorf("%s: %v, %v", text, all, err)
		}
	}
}

// TestOrder: in random orders, with owners that go round in a circle, no object is lost,
// namespaces come first, and owners come before what they own unless the circle forbids it.
func TestOrder(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		circle := r.IntN(2) == 0
		var all []manifest.Object
		for i := range 12 {
			m := manifest.Object{Kind: schema.GroupVersionKind{Kind: "Pod"}, UID: types.UID(strconv.Itoa(i))}
			switch {
			case i < 2:
				m.Kind.Kind = "Namespace"
			case i == 2 && circle:
				m.Owners = []types.UID{"11"}
			case i > 2:
				m.Owners = []types.UID{types.UID(strconv.Itoa(i - 1)), "absent"}
			}
			all = append(all, m)
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		at := map[types.UID]int{}
		for i, m := range manifest.Order(all) {
			at[m.UID] = i
		}
		if len(at) != 12 || at["0"] > 1 || at["1"] > 1 {
			t.Fatalf("seed %d: %v", seed, at)
		}
		late := 0
		for i := 3; i < 12; i++ {
			if at[types.UID(strconv.Itoa(i))] < at[types.UID(strconv.Itoa(i-1))] {
				late++
			}
		}
		if late > 1 || late > 0 && !circle {
			t.Fatalf("seed %d: %d owners come too late: %v", seed, late, at)
		}
	}
}
