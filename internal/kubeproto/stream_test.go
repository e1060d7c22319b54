package kubeproto

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func listOf(list *metav1.PartialObjectMetadataList) []byte {
	raw, err := list.Marshal()
	if err != nil {
		panic(err)
	}
	return wrap("meta.k8s.io/v1", "PartialObjectMetadataList", raw)
}

// readAll reads a list to its end.
func readAll(l *ListReader) (items [][]byte, meta metav1.ListMeta, err error) {
	for {
		item, err := l.Next()
		if err == io.EOF {
			return items, l.Meta(), nil
		}
		if err != nil {
			return items, l.Meta(), err
		}
		items = append(items, bytes.Clone(item))
	}
}

// ways are readers that cut the same bytes differently.
var ways = map[string]func(io.Reader) io.Reader{
	"whole":  func(r io.Reader) io.Reader { return r },
	"bytes":  iotest.OneByteReader,
	"halves": iotest.HalfReader,
	"eof":    iotest.DataErrReader,
}

func TestListReader(t *testing.T) {
	for seed := range int64(50) {
		r := rand.New(rand.NewSource(seed))
		want := randomList(r)
		if seed%10 == 0 && len(want.Items) > 0 {
			want.Items[0].Name = strings.Repeat("x", readBuffer+r.Intn(3*readBuffer)) // does not fit the buffer
		}
		data := listOf(want)
		for way, cut := range ways {
			l := NewListReader(cut(bytes.NewReader(data)), 0)
			apiVersion, kind, err := l.Open()
			if err != nil || apiVersion != "meta.k8s.io/v1" || kind != "PartialObjectMetadataList" {
				t.Fatalf("seed %d, %s: %q %q %v", seed, way, apiVersion, kind, err)
			}
			items, meta, err := readAll(l)
			if err != nil || len(items) != len(want.Items) || !reflect.DeepEqual(meta, want.ListMeta) || l.Offset() != int64(len(data)) {
				t.Fatalf("seed %d, %s: %d items, %+v, %d bytes, %v; want %d, %+v, %d", seed, way, len(items), meta, l.Offset(), err,
					len(want.Items), want.ListMeta, len(data))
			}
			for i, item := range items {
				if raw, _ := want.Items[i].Marshal(); !bytes.Equal(raw, item) {
					t.Fatalf("seed %d, %s: item %d is another", seed, way, i)
				}
			}
		}
	}
}

// TestListReaderTruncated ends a list at each of its bytes.
func TestListReaderTruncated(t *testing.T) {
	data := listOf(randomList(rand.New(rand.NewSource(7))))
	complete := len(data) - len(messageField(3)) - len(messageField(4)) // what follows the list is empty
	for n := range data {
		_, _, err := readAll(NewListReader(bytes.NewReader(data[:n]), 0))
		switch {
		case n > 0 && n < len(prefix):
			if !errors.Is(err, ErrNoEnvelope) {
				t.Errorf("%d bytes: %v", n, err)
			}
		case n == complete || n == complete+2:
			if err != nil {
				t.Errorf("all of the list: %v", err)
			}
		case !errors.Is(err, io.ErrUnexpectedEOF):
			t.Errorf("%d of %d bytes: %v", n, len(data), err)
		}
	}
	broken := errors.New("broken")
	if _, _, err := readAll(NewListReader(io.MultiReader(bytes.NewReader(data[:20]), iotest.ErrReader(broken)), 0)); !errors.Is(err, broken) {
		t.Errorf("the stream's own error: %v", err)
	}
}

func TestListReaderLimit(t *testing.T) {
	list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}}
	for i := range 6 {
		name := fmt.Sprint(i)
		if i%2 == 1 {
			name = strings.Repeat(name, 1000+i*readBuffer)
		}
		list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	l := NewListReader(bytes.NewReader(listOf(list)), 500)
	var got []string
	for {
		item, err := l.Next()
		if err == io.EOF {
			break
		}
		if errors.Is(err, ErrTooLarge) {
			got = append(got, "large")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		m, err := ParseMeta(item)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(m.Name))
	}
	if want := []string{"0", "large", "2", "large", "4", "large"}; !reflect.DeepEqual(got, want) || l.Meta().ResourceVersion != "9" {
		t.Errorf("got %v, %+v", got, l.Meta())
	}
}

// TestListReaderBelievesNoLength claims a size that never comes.
func TestListReaderBelievesNoLength(t *testing.T) {
	data := join([]byte("k8s\x00"), tagBytes(2, 2), []byte{0x80, 0x80, 0x80, 0x80, 0x10}, tagBytes(2, 2), []byte{0x80, 0x80, 0x80, 0x80, 0x04}, []byte("abc"))
	l := NewListReader(bytes.NewReader(data), 1<<31)
	if _, err := l.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	if cap(l.in.large) > 2*readBuffer {
		t.Errorf("%d bytes for three", cap(l.in.large))
	}
}

func TestListReaderOther(t *testing.T) {
	meta := messageField(1, textField(2, "5"))
	for name, test := range map[string]struct {
		in    []byte
		items int
		err   error
	}{
		"nothing":                  {nil, 0, io.ErrUnexpectedEOF},
		"JSON":                     {[]byte(`{"kind":"List"}`), 0, ErrNoEnvelope},
		"no object":                {[]byte("k8s\x00"), 0, io.ErrUnexpectedEOF},
		"metadata after items":     {wrap("v1", "PodList", join(messageField(2), messageField(2), meta)), 2, nil},
		"unknown fields":           {wrap("v1", "PodList", join(numberField(7, 1), meta, fixed32(8, 1), textField(99, "x"), fixed64(9, 1), messageField(2))), 1, nil},
		"unknown fields around":    {join(wrap("v1", "PodList", meta), numberField(9, 1), fixed64(9, 1), textField(9, "x")), 0, nil},
		"two objects":              {join(wrap("v1", "PodList", meta), textField(2, meta)), 0, nil},
		"a group":                  {wrap("v1", "PodList", group(9)), 0, ErrTag},
		"field 0":                  {wrap("v1", "PodList", []byte{2, 0}), 0, ErrTag},
		"items that are numbers":   {wrap("v1", "PodList", join(meta, numberField(2, 1))), 0, ErrWireType},
		"an item beyond the list":  {join([]byte("k8s\x00"), tagBytes(2, 2), []byte{3}, tagBytes(2, 2), []byte{9}, []byte("123456789")), 0, io.ErrUnexpectedEOF},
		"a fixed beyond the list":  {join([]byte("k8s\x00"), tagBytes(2, 2), []byte{3}, tagBytes(5, 1), []byte("123456789")), 0, io.ErrUnexpectedEOF},
		"a number beyond the list": {join([]byte("k8s\x00"), tagBytes(2, 2), []byte{2}, tagBytes(5, 0), []byte{0x80, 0x01}), 0, io.ErrUnexpectedEOF},
		"negative length":          {join([]byte("k8s\x00"), tagBytes(2, 2), bytes.Repeat([]byte{0xff}, 9), []byte{1}), 0, ErrLength},
		"endless length":           {join([]byte("k8s\x00"), tagBytes(2, 2), bytes.Repeat([]byte{0xff}, 12)), 0, ErrOverflow},
		"bad metadata":             {wrap("v1", "PodList", messageField(1, numberField(2, 1))), 0, nil},
	} {
		items, got, err := readAll(NewListReader(bytes.NewReader(test.in), 0))
		switch name {
		case "two objects", "bad metadata":
			var where *DecodeError
			if !errors.As(err, &where) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !errors.Is(err, test.err) || len(items) != test.items || err == nil && bytes.Contains(test.in, meta) && got.ResourceVersion != "5" {
			t.Errorf("%s: %d items, %+v, %v; want %d, %v", name, len(items), got, err, test.items, test.err)
		}
	}
}

// TestListReaderRaw reads what comes where a list was expected.
func TestListReaderRaw(t *testing.T) {
	st := &metav1.Status{Status: "Failure", Message: "no", Code: 403}
	raw, err := st.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	l := NewListReader(bytes.NewReader(wrap("v1", "Status", raw)), 0)
	if _, kind, err := l.Open(); err != nil || kind != "Status" {
		t.Fatal(kind, err)
	}
	got, err := l.Raw()
	if err != nil || !bytes.Equal(got, raw) {
		t.Fatalf("%x, %v", got, err)
	}
	if _, err := l.Next(); err != io.EOF {
		t.Errorf("after all of it: %v", err)
	}
	if _, err := NewListReader(bytes.NewReader(wrap("v1", "Status", raw)), 3).Raw(); !errors.Is(err, ErrTooLarge) {
		t.Errorf("beyond the limit: %v", err)
	}
	if _, err := NewListReader(strings.NewReader("<html>"), 3).Raw(); !errors.Is(err, ErrNoEnvelope) {
		t.Errorf("no envelope: %v", err)
	}
}

func TestFrameReader(t *testing.T) {
	big := strings.Repeat("x", 3*readBuffer)
	frames := [][]byte{frameOf("ADDED", pod("v1", "Pod", "a")), {0, 0, 0, 0}, frameOf("ADDED", pod("v1", "Pod", big)), frameOf("DELETED", nil)}
	for way, cut := range ways {
		r := NewFrameReader(cut(bytes.NewReader(join(frames...))), 0)
		for i, want := range frames {
			if got, err := r.Next(); err != nil || !bytes.Equal(got, want[4:]) {
				t.Fatalf("%s: frame %d: %d bytes, %v", way, i, len(got), err)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("%s: at the end: %v", way, err)
		}
		small := NewFrameReader(cut(bytes.NewReader(join(frames...))), 1000)
		for i := range frames {
			got, err := small.Next()
			if i == 2 && !errors.Is(err, ErrTooLarge) || i != 2 && (err != nil || !bytes.Equal(got, frames[i][4:])) {
				t.Errorf("%s: frame %d with a limit: %v", way, i, err)
			}
		}
		if _, err := small.Next(); err != io.EOF {
			t.Errorf("%s: at the end: %v", way, err)
		}
	}
	one := frames[0]
	for n := 1; n < len(one); n++ {
		if _, err := NewFrameReader(bytes.NewReader(one[:n]), 0).Next(); err != io.ErrUnexpectedEOF {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// TestFrameReady reads frames of which the last ones have not arrived, or not as a whole.
func TestFrameReady(t *testing.T) {
	frame := frameOf("ADDED", largeObject(100))
	large := frameOf("ADDED", largeObject(2000))
	pieces := [][]byte{join(frame, frame, frame[:3]), join(frame[3:], frame[:50]), join(frame[50:], large, frame)}
	want := []bool{true, false, false, true, false, false} // the fifth is too large, and its end was not looked for
	var readers []io.Reader
	for _, p := range pieces {
		readers = append(readers, bytes.NewReader(p))
	}
	r := NewFrameReader(io.MultiReader(readers...), 1000)
	var got []bool
	for {
		if _, err := r.Next(); err == io.EOF {
			break
		} else if err != nil && !errors.Is(err, ErrTooLarge) {
			t.Fatal(err)
		}
		got = append(got, r.Ready())
	}
	if !slices.Equal(got, want) {
		t.Errorf("ready: %v, want %v", got, want)
	}
}

// TestFrameReaderFitsItsBuffer has a watch with many events, which then goes quiet and wakes again,
// in pieces of all sizes.
func TestFrameReaderFitsItsBuffer(t *testing.T) {
	frame := func(n int) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(n)), bytes.Repeat([]byte{byte(n)}, n)...)
	}
	var sizes []int
	for _, n := range []int{10, 3000, idleBuffer - 4, idleBuffer, 20_000, readBuffer + 1} {
		for range 3 * idleAfter {
			sizes = append(sizes, n)
		}
		for range 3 * idleAfter {
			sizes = append(sizes, 100)
		}
	}
	for _, at := range []int{1, 1000, 1 << 20} {
		pipe, in := io.Pipe()
		go func() {
			for i, n := range sizes {
				data := frame(n)
				if i%7 == 6 {
					data = append(data, frame(5)...) // two at once
				}
				for len(data) > 0 {
					size := at
					if at == 1 && len(data) <= n { // after the header: a handoff for each byte takes seconds
						size = 50
					}
					n, err := in.Write(data[:min(size, len(data))])
					if err != nil {
						return
					}
					data = data[n:]
				}
			}
			in.Close()
		}()
		r := NewFrameReader(pipe, 0)
		for i, n := range sizes {
			want := []int{n}
			if i%7 == 6 {
				want = append(want, 5)
			}
			for _, n := range want {
				got, err := r.Next()
				if err != nil || !bytes.Equal(got, frame(n)[4:]) {
					t.Fatalf("pieces of %d: frame %d: %d bytes, want %d: %v", at, i, len(got), n, err)
				}
			}
			switch quiet := i % (6 * idleAfter); {
			case n > idleBuffer && r.in.Size() != readBuffer:
				t.Fatalf("pieces of %d: frame %d of %d bytes: a buffer of %d", at, i, n, r.in.Size())
			case quiet == 6*idleAfter-1 && r.in.Size() != idleBuffer:
				t.Fatalf("pieces of %d: frame %d: after a quiet time a buffer of %d", at, i, r.in.Size())
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Fatalf("pieces of %d: %v at the end", at, err)
		}
	}
}
