package kubeproto

import (
	"bytes"
	"errors"
	"io"
	"math/rand"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// FuzzPartialObjectMetadata compares with the generated code.
func FuzzPartialObjectMetadata(f *testing.F) {
	for seed := range int64(8) {
		data, err := samples["PartialObjectMetadata"](rand.New(rand.NewSource(seed))).Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	plan := mustCompile[metav1.PartialObjectMetadata](f)
	strings := NewStrings(16)
	f.Fuzz(func(t *testing.T, data []byte) {
		requireAgreement(t, "plain", plan, &metav1.PartialObjectMetadata{}, data, Options{})
		requireAgreement(t, "interned", plan, &metav1.PartialObjectMetadata{}, data, Options{Strings: strings})
		if err := plan.Decode(data, &metav1.PartialObjectMetadata{}, Options{DropManagedFields: true}); err != nil {
			if err := (&metav1.PartialObjectMetadata{}).Unmarshal(data); err == nil {
				t.Error("only without managedFields it is refused")
			}
		}
		var whole metav1.PartialObjectMetadata
		if whole.Unmarshal(data) == nil {
			m, err := ParseMeta(data)
			if err != nil || string(m.Name) != whole.Name || string(m.Namespace) != whole.Namespace ||
				string(m.ResourceVersion) != whole.ResourceVersion {
				t.Errorf("ParseMeta: %v, %v of %+v", err, m, whole)
			}
		}
	})
}

// FuzzEverything looks for panics and for memory that is not bounded.
func FuzzEverything(f *testing.F) {
	for _, test := range decodeTests {
		f.Add(test.in)
	}
	plan := mustCompile[everything](f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var a, b everything
		err := plan.Decode(data, &a, Options{})
		if again := plan.Decode(data, &b, Options{Strings: NewStrings(4)}); (err == nil) != (again == nil) {
			t.Fatalf("error %v, with a cache %v", err, again)
		}
		var c everything
		if again := plan.Decode(bytes.Clone(data), &c, Options{Alias: true}); (err == nil) != (again == nil) || err == nil && reflect.DeepEqual(a, b) && !reflect.DeepEqual(a, c) {
			t.Fatalf("error %v, with strings in place %v: %+v, %+v", err, again, a, c)
		}
		alike(t, plan, data)
		var where *DecodeError
		if err != nil && (!errors.As(err, &where) || where.Offset < 0 || where.Offset > len(data)) {
			t.Fatalf("an error that does not say where: %v", err)
		}
	})
}

// FuzzEnvelope compares envelopes and events with the generated code.
func FuzzEnvelope(f *testing.F) {
	f.Add(pod("v1", "Pod", "x"))
	f.Add(frameOf("ADDED", pod("v1", "Pod", "x"))[4:])
	f.Fuzz(func(t *testing.T, data []byte) {
		var want runtime.Unknown
		wantErr := want.Unmarshal(data)
		e, err := ParseEnvelope(append([]byte("k8s\x00"), data...))
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("error %v, of the generated code %v", err, wantErr)
		}
		if err == nil && (string(e.APIVersion) != want.APIVersion || string(e.Kind) != want.Kind || !bytes.Equal(e.Raw, want.Raw) ||
			string(e.ContentEncoding) != want.ContentEncoding || string(e.ContentType) != want.ContentType) {
			t.Errorf("got %q, want %+v", e, want)
		}
		var event metav1.WatchEvent
		eventErr := event.Unmarshal(data)
		w, err := ParseWatchEvent(data)
		if (err == nil) != (eventErr == nil) {
			t.Fatalf("event: error %v, of the generated code %v", err, eventErr)
		}
		if err == nil && (string(w.Type) != event.Type || !bytes.Equal(w.Object, event.Object.Raw)) {
			t.Errorf("got %q, want %+v", w, event)
		}
	})
}

// FuzzList reads a list as a stream and compares with the generated code, which has it whole.
// A list with groups is refused, and one that is cut into several pieces is not put together.
func FuzzList(f *testing.F) {
	for seed := range int64(4) {
		f.Add(listOf(randomList(rand.New(rand.NewSource(seed)))))
	}
	f.Add(listOf(&metav1.PartialObjectMetadataList{}))
	f.Fuzz(func(t *testing.T, data []byte) {
		items, meta, err := readAll(NewListReader(bytes.NewReader(data), 1<<20))
		if err != nil {
			return
		}
		e, err := ParseEnvelope(data)
		if err != nil {
			t.Fatalf("read as a stream, but no envelope: %v", err)
		}
		var want metav1.ListMeta
		n := 0
		for i := 0; i < len(e.Raw); n++ {
			field := readField(e.Raw, i)
			if field.next < 0 {
				t.Fatalf("read as a stream, but illegal at %d", i)
			}
			switch i = field.next; field.num {
			case 1:
				if err := want.Unmarshal(e.Raw[field.start:field.end]); err != nil {
					t.Fatal(err)
				}
			case 2:
				if len(items) == 0 || !bytes.Equal(items[0], e.Raw[field.start:field.end]) {
					t.Fatal("an item is missing")
				}
				items = items[1:]
			}
		}
		if len(items) > 0 || !reflect.DeepEqual(meta, want) {
			t.Errorf("%d items too many, metadata %+v, want %+v", len(items), meta, want)
		}
	})
}

// FuzzFrames reads frames that come byte by byte.
func FuzzFrames(f *testing.F) {
	f.Add(join(frameOf("ADDED", pod("v1", "Pod", "x")), []byte{0, 0, 0, 0}))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewFrameReader(bytes.NewReader(data), 1<<10)
		for read := 0; ; {
			frame, err := r.Next()
			if err != nil && !errors.Is(err, ErrTooLarge) {
				if err == io.EOF && read != len(data) {
					t.Errorf("ended after %d of %d bytes", read, len(data))
				}
				return
			}
			if err != nil {
				frame = data[read+4 : min(len(data), read+4+int(bigEndian(data[read:])))]
			}
			if !bytes.Equal(frame, data[read+4:read+4+len(frame)]) {
				t.Fatal("another frame")
			}
			read += 4 + len(frame)
		}
	})
}

// FuzzStart checks that what is read of the beginning of bytes is a part of it.
func FuzzStart(f *testing.F) {
	f.Add(frameOf("DELETED", largeObject(40))[4:], 30)
	f.Add(largeObject(10), 20)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		if cut < 0 || cut >= len(data) {
			return
		}
		start := data[:cut]
		w, _ := ParseWatchEvent(start)
		e, _ := ParseEnvelope(w.Object)
		m, _ := ParseMeta(e.Raw)
		for _, part := range [][]byte{w.Type, w.Object, e.Kind, e.APIVersion, e.Raw, m.Name, m.Namespace, m.ResourceVersion} {
			if !bytes.Contains(start, part) || len(part) != cap(part) {
				t.Errorf("%q of %q", part, start)
			}
		}
	})
}
