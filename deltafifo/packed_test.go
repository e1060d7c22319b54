package deltafifo

import (
	"fmt"
	"maps"
	"reflect"
	"testing"
	"unsafe"

	"github.com/kinform/kinform/internal/packed"
	"github.com/kinform/kinform/reflector"
)

// parcel is an object that is packed.
type parcel struct{ Name, Text string }

// packedShelf is a store of packed objects.
type packedShelf struct {
	*shelf[*parcel]
	codec packed.Codec
	bytes map[int]string
}

func (s *packedShelf) Packing() (packed.Codec, func(int) string) {
	return s.codec, func(key int) string { return s.bytes[key] }
}

// TestPackedList: the objects of a list are packed as they come, and each delta has a new one and its bytes, one copy of
// those that the store has, too.
func TestPackedList(t *testing.T) {
	codec, err := packed.Of(reflect.TypeFor[*parcel]())
	if err != nil {
		t.Fatal(err)
	}
	known := &packedShelf{newShelf[*parcel](), codec, map[int]string{}}
	known.bytes[7], err = codec.Pack(&parcel{"7", "same"})
	if err != nil {
		t.Fatal(err)
	}
	s := NewSink[int, *parcel](known, Options{}, func(p *parcel) (key int, err error) {
		_, err = fmt.Sscan(p.Name, &key)
		return key, err
	}, func(bad *reflector.ObjectError) { t.Error(bad) })
	listed := func(typ reflector.EventType, name int, text string) {
		t.Helper()
		p := &parcel{fmt.Sprint(name), text}
		if err := s.Listed(t.Context(), reflector.Event[*parcel]{Type: typ, Object: p}); err != nil {
			t.Fatal(err)
		}
		*p = parcel{} // it is not kept
	}
	want := map[int]string{}
	for n := range 300 {
		listed(reflector.Added, n, "same")
		want[n] = "same"
	}
	for n := range 50 {
		listed(reflector.Modified, 3*n, "other")
		want[3*n] = "other"
		listed(reflector.Deleted, 5*n, "")
		delete(want, 5*n)
	}
	if err := s.Replace(t.Context(), "9"); err != nil {
		t.Fatal(err)
	}
	batch, ok := s.TryPop()
	if !ok {
		t.Fatal("nothing is pending")
	}
	for range 2 {
		got := map[int]string{}
		for key, deltas := range batch.All() {
			d := &deltas[0]
			got[key] = d.Object.Text
			if bytes, err := codec.Pack(d.Object); err != nil || bytes != d.Packed {
				t.Errorf("%d has the bytes %q, and packed %q (%v)", key, d.Packed, bytes, err)
			}
			if key == 7 && unsafe.StringData(d.Packed) != unsafe.StringData(known.bytes[7]) {
				t.Error("there is a second copy of the bytes that the store has")
			}
			d.Object.Text = "spoilt"
		}
		if !maps.Equal(got, want) {
			t.Errorf("the list is %v, want %v", got, want)
		}
	}
}
