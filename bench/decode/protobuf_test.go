package decode

import (
	"flag"
	"fmt"
	"math/rand"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	"github.com/kinform/kinform/internal/kubeproto"
)

var (
	firstSeed = flag.Int64("seed", 1, "the first seed of random objects")
	seeds     = flag.Int64("seeds", 4, "how many seeds are tried, each with each type")
)

// filler returns a filler of random objects, within apimachinery's rules for metadata. Every other
// seed fills more: lists and maps of up to three.
func filler(seed int64) *randfill.Filler {
	f := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(seed), scheme.Codecs)
	if seed%2 == 0 {
		f.NilChance(0.3).NumElements(0, 3)
	}
	return f
}

// encoded returns a random object in the encoding of the generated code, or nil if it does not
// encode: randfill knows only the rules of metadata.
func encoded(k known, fill *randfill.Filler) []byte {
	in := k.fresh()
	fill.Fill(in)
	data, err := in.Marshal()
	if err != nil {
		return nil
	}
	return data
}

// TestRandomObjects has both decoders decode the same objects, without, with a cold and
// with a warm cache of strings.
func TestRandomObjects(t *testing.T) {
	strings := kubeproto.NewStrings(0)
	for _, k := range knownTypes(t) {
		done := 0
		for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
			data := encoded(k, filler(seed))
			if data == nil {
				continue
			}
			done++
			want := k.fresh()
			if err := want.Unmarshal(data); err != nil {
				t.Fatalf("%v, seed %d: the generated code refuses its own: %v", k.gvk, seed, err)
			}
			for _, o := range []kubeproto.Options{{}, {Strings: strings}, {Strings: strings}, {Alias: true}} {
				got, err := k.decode(data, o)
				if err != nil {
					t.Fatalf("%v, seed %d: %v", k.gvk, seed, err)
				}
				requireEqual(t, fmt.Sprintf("%v, seed %d", k.gvk, seed), got, want)
			}
		}
		if done == 0 {
			t.Errorf("%v: no random object has an encoding", k.gvk)
		}
	}
}

// requireEqual compares everything, nil and empty too.
func requireEqual(t testing.TB, name string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: semantically equal: %v\n%s", name, equality.Semantic.DeepEqual(got, want), diff.Diff(want, got))
	}
}
