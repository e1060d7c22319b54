package packed

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/memtest"
)

// relative returns object i of a kind: objects of a kind have 800 bytes in common, and 50 of their own.
func relative(kind string, i int) *metav1.PartialObjectMetadata {
	random := rand.New(rand.NewPCG(uint64(i), 1))
	obj := &metav1.PartialObjectMetadata{ObjectMeta: meta(fmt.Sprintf("%s-%x", kind, random.Uint64()))}
	obj.Annotations = map[string]string{"of": strings.Repeat(kind, 4), "sum": fmt.Sprintf("%016x", random.Uint64())}
	common := rand.New(rand.NewPCG(uint64(len(kind)), uint64(kind[0])))
	for n := range 16 {
		obj.Annotations[fmt.Sprint("common-", n)] = fmt.Sprintf("%032x", common.Uint64())
	}
	return obj
}

// noise returns an object that has next to nothing in common with others.
func noise(i int) *metav1.PartialObjectMetadata {
	random := rand.New(rand.NewPCG(uint64(i), 2))
	text := make([]byte, 1000)
	for n := range text {
		text[n] = byte(random.UintN(128))
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: string(text)}}
}

// sizeOf packs objects from number from on and returns their mean size.
func sizeOf(t *testing.T, c *cache, from, n int, make func(i int) *metav1.PartialObjectMetadata) int {
	t.Helper()
	sum := 0
	for i := from; i < from+n; i++ {
		bytes, err := c.Pack(make(i))
		if err != nil {
			t.Fatal(err)
		}
		sum += len(bytes)
	}
	return sum / n
}

func relatives(kind string) func(int) *metav1.PartialObjectMetadata {
	return func(i int) *metav1.PartialObjectMetadata { return relative(kind, i) }
}

// TestLearns: objects that have much in common take little, also when others come that have other things in common. Those
// that have nothing in common are kept as they are. Dictionaries are few.
func TestLearns(t *testing.T) {
	c := cacheOf(reflect.TypeFor[*metav1.PartialObjectMetadata]())
	plain := sizeOf(t, c, 0, 50, relatives("a"))
	if got := sizeOf(t, c, 50, 1000, relatives("a")); got > plain/2 {
		t.Errorf("%d bytes at first, %d after a thousand", plain, got)
	}
	a := sizeOf(t, c, 3000, 3000, relatives("a"))
	if a > plain/3 {
		t.Errorf("%d bytes at first, %d after thousands", plain, a)
	}
	if got := sizeOf(t, c, 6000, 1000, noise); got < 1000 {
		t.Errorf("noise takes %d bytes", got)
	}
	sizeOf(t, c, 7000, 20000, relatives("others"))
	if got := sizeOf(t, c, 27000, 1000, relatives("others")); got > plain/3 {
		t.Errorf("%d bytes, where those before take %d", got, a)
	}
	if n := len(c.common.list()); n < 2 || n > 4 {
		t.Errorf("%d dictionaries", n)
	}

	c = cacheOf(reflect.TypeFor[*metav1.PartialObjectMetadata]())
	sizeOf(t, c, 0, 3000, noise)
	if all := c.common.list(); all != nil {
		t.Errorf("%d dictionaries for noise", len(all))
	}
}

// TestLearnsAside: goroutines pack while dictionaries come, and read what others packed. All objects come back, equal
// ones are the Same whatever their dictionary, and others are not.
func TestLearnsAside(t *testing.T) {
	const n, goroutines = 2500, 4
	c := cacheOf(reflect.TypeFor[*metav1.PartialObjectMetadata]())
	var all [goroutines][n]string
	pack := func(g, i int) string {
		bytes, err := c.Pack(relative("a", i))
		if err != nil {
			t.Error(err)
		}
		return bytes
	}
	first := pack(0, 0)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range n {
				all[g][i] = pack(g, i)
				if got := Open[*metav1.PartialObjectMetadata](c, all[g][i/2]); !reflect.DeepEqual(got, relative("a", i/2)) {
					t.Errorf("object %d is another one", i/2)
				}
			}
		})
	}
	wg.Wait()
	for g := range goroutines {
		for i, bytes := range all[g] {
			other := all[0][i]
			if !c.Same(bytes, other) || i > 0 && c.Same(bytes, all[0][i-1]) {
				t.Fatalf("object %d of goroutine %d is not the Same, or the Same as another", i, g)
			}
			if got := Open[*metav1.PartialObjectMetadata](c, bytes); !reflect.DeepEqual(got, relative("a", i)) {
				t.Fatalf("object %d is another one", i)
			}
		}
	}
	if last := pack(0, 0); last[0] == first[0] || !c.Same(last, first) || c.Same(last, pack(0, 1)) {
		t.Error("the first object has the same dictionary in the end, or is not the Same")
	}
	huge := noise(1)
	huge.Name = strings.Repeat("x", largest)
	if bytes, err := c.Pack(huge); err != nil || bytes[0] >= compacted || !reflect.DeepEqual(Open[*metav1.PartialObjectMetadata](c, bytes), huge) {
		t.Errorf("a huge object does not come back whole: %v", err)
	}
	if c.Same("", "") {
		t.Error("nothing is the Same as nothing")
	}
}

// TestWrongDictionary: bytes of no dictionary, cut ones, and such as lie about their length are errors, take no memory
// and leave an object.
func TestWrongDictionary(t *testing.T) {
	c := cacheOf(reflect.TypeFor[*metav1.PartialObjectMetadata]())
	sizeOf(t, c, 0, 1000, relatives("a"))
	good, err := c.Pack(relative("a", 1))
	if err != nil || good[0] < compacted {
		t.Fatalf("%q, %v", good[0], err)
	}
	for _, bytes := range []string{"", "\xff", "\xff" + good[1:], good[:1], good[:len(good)/2], good[:1] + "\xff\xff\xff\xff\x0f" + good[3:], good[:1] + "\xff\xff\xff\xff\x03a"} {
		var obj *metav1.PartialObjectMetadata
		allocated := memtest.Bytes(0, func() { err = c.Unpack(bytes, &obj) })
		if err == nil || obj == nil || !strings.Contains(err.Error(), "packed *v1.PartialObjectMetadata: ") {
			t.Errorf("%.10q: %v, %v", bytes, obj, err)
		}
		if allocated > 2*largest && !memtest.Race {
			t.Errorf("%.10q: %d bytes of memory", bytes, allocated)
		}
	}
}

// FuzzWrongDictionary: no bytes make Unpack panic, whatever the dictionary.
func FuzzWrongDictionary(f *testing.F) {
	c := cacheOf(reflect.TypeFor[*metav1.PartialObjectMetadata]())
	for i := range 1000 {
		if _, err := c.Pack(relative("a", i)); err != nil {
			f.Fatal(err)
		}
	}
	bytes, _ := c.Pack(relative("a", 0))
	f.Add(bytes)
	f.Add(bytes[:len(bytes)/2])
	f.Fuzz(func(t *testing.T, bytes string) {
		var obj *metav1.PartialObjectMetadata
		_ = c.Unpack(bytes, &obj)
		if obj == nil {
			t.Fatal("no object")
		}
	})
}
