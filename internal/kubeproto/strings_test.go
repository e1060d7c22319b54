package kubeproto

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func same(a, b string) bool { return unsafe.StringData(a) == unsafe.StringData(b) }

func TestStringsShare(t *testing.T) {
	s := NewStrings(0)
	for _, text := range []string{"ab", "abc", "team-7", "kubernetes.io/hostname", strings.Repeat("x", maxInterned)} {
		first, again := s.Get([]byte(text)), s.Get([]byte(text))
		s.last = [lastStrings]last{} // as if many others had come
		second, third := s.Get([]byte(text)), s.Get([]byte(text))
		if first != text || again != text || second != text || third != text {
			t.Fatalf("%q became %q, %q, %q, %q", text, first, again, second, third)
		}
		if !same(first, again) {
			t.Errorf("%q: allocated twice at once", text)
		}
		if same(first, second) || !same(second, third) {
			t.Errorf("%q: the second time it should have got in, and not before", text)
		}
	}
	long := []byte(strings.Repeat("x", maxInterned+1))
	s.Get(long)
	if a, b := s.Get(long), s.Get(long); same(a, b) {
		t.Error("a long string was kept")
	}
}

// TestStringsKeepWhatRepeats has many strings pass that come once. What repeats stays, and
// nothing that came once is kept.
func TestStringsKeepWhatRepeats(t *testing.T) {
	s := NewStrings(4096)
	frequent := []byte("default")
	s.Get(frequent)
	s.last = [lastStrings]last{}
	kept := s.Get(frequent)
	for i := range 100_000 {
		s.Get(fmt.Appendf(nil, "pod-%d", i))
		if twice := fmt.Appendf(nil, "image-%d", i); !same(s.Get(twice), s.Get(twice)) {
			t.Fatalf("%s: allocated twice at once", twice)
		}
	}
	if !same(kept, s.Get(frequent)) {
		t.Error("pushed out by strings that do not repeat")
	}
	filled := 0
	for _, slot := range s.slots {
		if slot.text != "" {
			filled++
		}
	}
	if filled != 1 {
		t.Errorf("%d strings are kept, of which one came twice", filled)
	}
}

// TestStringsOfOneHash: a hash is not believed, for there are more strings than hashes.
func TestStringsOfOneHash(t *testing.T) {
	s := NewStrings(1)
	const text = "team-7"
	s.slots[0] = slot{text: "another", hash: uint32(hash([]byte(text))>>32) | 1}
	for range 3 {
		if got := s.Get([]byte(text)); got != text {
			t.Fatalf("%q became %q", text, got)
		}
	}
}

// TestStringsRandom has a cache that is far too small, and bytes that are reused.
func TestStringsRandom(t *testing.T) {
	for _, slots := range []int{1, 2, 3, 64} {
		s := NewStrings(slots)
		r := rand.New(rand.NewSource(int64(slots)))
		var kept, want []string
		buf := make([]byte, 0, 256)
		for range 5000 {
			n := r.Intn(40)
			if r.Intn(10) == 0 {
				n = r.Intn(200)
			}
			buf = buf[:0]
			for range n {
				buf = append(buf, 'a'+byte(r.Intn(2)))
			}
			want = append(want, string(buf))
			kept = append(kept, s.Get(buf))
		}
		for i := range want {
			if kept[i] != want[i] {
				t.Fatalf("%d slots: %q became %q", slots, want[i], kept[i])
			}
		}
	}
}

func TestStringsSizes(t *testing.T) {
	for slots, want := range map[int]int{-1: DefaultSlots, 0: DefaultSlots, 1: 1, 2: 2, 3: 4, 1000: 1024, 8192: 8192} {
		if got := len(NewStrings(slots).slots); got != want {
			t.Errorf("NewStrings(%d) has %d slots, want %d", slots, got, want)
		}
	}
	if n := unsafe.Sizeof(slot{}); n != 24 {
		t.Errorf("a slot has %d bytes; the comment says 24", n)
	}
	var zero Strings
	if zero.Get([]byte("a")) != "a" || (*Strings)(nil).Get([]byte("a")) != "a" {
		t.Error("without slots strings are lost")
	}
}

// TestHashSpreads: what differs at the ends or in the middle must not share a slot too often.
func TestHashSpreads(t *testing.T) {
	const slots = 8192
	for _, format := range []string{"%d", "team-%d", "ip-10-0-%d-17.eu-central-1.compute.internal", "registry.example.com/service:v1.%d",
		"/var/run/secrets/kubernetes.io/serviceaccount/%d"} {
		seen := map[uint64]bool{}
		const n = 1000
		for i := range n {
			seen[hash(fmt.Appendf(nil, format, i))&(slots-1)] = true
		}
		if len(seen) < n*85/100 { // 94% if it were random
			t.Errorf("%q: %d strings have %d slots", format, n, len(seen))
		}
	}
}

func BenchmarkStrings(b *testing.B) {
	for name, format := range map[string]string{"hit": "namespace-%[1]d", "miss": "pod-%[1]d-%[2]d"} {
		b.Run(name, func(b *testing.B) {
			s := NewStrings(0)
			texts := make([][]byte, 1<<16)
			for i := range texts {
				texts[i] = fmt.Appendf(nil, format, i%500, i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.Get(texts[i&(len(texts)-1)])
			}
		})
	}
}

// TestAlias: strings are in the data, and what the owner of an object may change is not.
func TestAlias(t *testing.T) {
	meta := samples["ObjectMeta"](rand.New(rand.NewSource(1))).(*metav1.ObjectMeta)
	meta.Name, meta.UID, meta.ResourceVersion = "a-name", "a-uid", "17"
	in := runtime.Unknown{Raw: []byte("bytes"), ContentType: "text"}
	data, err := in.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	var out runtime.Unknown
	if err := mustCompile[runtime.Unknown](t).Decode(data, &out, Options{Alias: true, Strings: NewStrings(1)}); err != nil {
		t.Fatal(err)
	}
	inside := func(data []byte, at *byte) bool {
		from := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
		return from <= uintptr(unsafe.Pointer(at)) && uintptr(unsafe.Pointer(at)) < from+uintptr(len(data))
	}
	if out.ContentType != "text" || !inside(data, unsafe.StringData(out.ContentType)) || string(out.Raw) != "bytes" || inside(data, &out.Raw[0]) {
		t.Errorf("got %+v", out)
	}
	if data, err = meta.Marshal(); err != nil {
		t.Fatal(err)
	}
	var got metav1.ObjectMeta
	if err := mustCompile[metav1.ObjectMeta](t).Decode(data, &got, Options{Alias: true}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{got.Name, string(got.UID), got.ResourceVersion} {
		if !inside(data, unsafe.StringData(text)) {
			t.Errorf("%q has memory of its own", text)
		}
	}
}
