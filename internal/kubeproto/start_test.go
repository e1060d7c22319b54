package kubeproto

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// largeObject is one that begins with all that identifies it, and goes on for n bytes.
func largeObject(n int) []byte {
	meta := messageField(1, textField(1, "web"), textField(2, "generated-"), textField(3, "prod"), numberField(4, 7), textField(5, "u-1"),
		textField(6, "42"), textField(17, strings.Repeat("m", n/2)))
	return wrap("v1", "Pod", join(meta, textField(2, strings.Repeat("s", n/2))))
}

// For a frame cut off at any byte, each part is read correctly or is missing, and former
// contents stay.
func TestStartsCutAnywhere(t *testing.T) {
	frame := frameOf("DELETED", largeObject(600))[4:]
	fields := func(frame []byte) [6]string {
		w, _ := ParseWatchEvent(frame)
		e, _ := ParseEnvelope(w.Object)
		m, _ := ParseMeta(e.Raw)
		return [...]string{string(w.Type), string(e.APIVersion), string(e.Kind), string(m.Name), string(m.Namespace), string(m.ResourceVersion)}
	}
	want := [...]string{"DELETED", "v1", "Pod", "web", "prod", "42"}
	if got := fields(frame); got != want {
		t.Fatalf("of the whole: %q", got)
	}
	known := 0
	for n := range frame {
		got := fields(frame[:n])
		have := 0
		for i := range got {
			if got[i] != "" {
				have++
			}
			if got[i] != "" && got[i] != want[i] {
				t.Fatalf("cut at %d: %q", n, got)
			}
		}
		if have < known {
			t.Fatalf("cut at %d: fewer than before: %q", n, got)
		}
		known = have
		if n == 120 && got != want {
			t.Errorf("cut at %d, all that matters is there: %q", n, got)
		}
	}
}

func TestStartsOfOtherBytes(t *testing.T) {
	for name, raw := range map[string][]byte{
		"nothing":           nil,
		"field 0":           {2, 1, 'x'},
		"a cut tag":         {0x80},
		"a cut length":      {0x0a, 0x80},
		"a negative length": join(tagBytes(1, 2), bytes.Repeat([]byte{0xff}, 9), []byte{1}),
		"a cut number":      {0x08, 0x80},
		"a cut group":       {0x0b},
		"a cut fixed64":     {0x09, 1, 2},
		"no envelope":       messageField(2, textField(1, "{}")),
	} {
		w, _ := ParseWatchEvent(raw)
		inner, _ := ParseEnvelope(w.Object)
		e, _ := ParseEnvelope(raw)
		m, _ := ParseMeta(raw)
		if len(w.Type) > 0 || len(inner.Raw) > 0 || len(e.Kind) > 0 || len(e.Raw) > 0 || len(m.Name) > 0 {
			t.Errorf("%s: %q %q %+v", name, w, e, m)
		}
	}
}

// The readers give the beginning of what they skip, and go on behind it.
func TestReadersGiveTheStart(t *testing.T) {
	sizes := []int{1001, readBuffer - 1, readBuffer + 1, 5 * readBuffer}
	for way, cut := range ways {
		for _, size := range sizes {
			small := frameOf("ADDED", pod("v1", "Pod", "a"))
			r := NewFrameReader(cut(bytes.NewReader(join(small, frameOf("DELETED", largeObject(size)), small))), 1000)
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
			start, err := r.Next()
			w, _ := ParseWatchEvent(start)
			e, _ := ParseEnvelope(w.Object)
			m, _ := ParseMeta(e.Raw)
			if !errors.Is(err, ErrTooLarge) || string(m.Name) != "web" || string(m.ResourceVersion) != "42" || len(start) > readBuffer {
				t.Errorf("%s, %d: %+v, %v", way, size, m, err)
			}
			if got, err := r.Next(); err != nil || !bytes.Equal(got, small[4:]) {
				t.Errorf("%s, %d: behind it: %v", way, size, err)
			}
			if _, err := r.Next(); r.Offset() != int64(2*len(small)+len(frameOf("DELETED", largeObject(size)))) {
				t.Errorf("%s, %d: at %d: %v", way, size, r.Offset(), err)
			}

			e, err = ParseEnvelope(largeObject(size))
			if err != nil {
				t.Fatal(err)
			}
			item := e.Raw
			l := NewListReader(cut(bytes.NewReader(wrap("v1", "PodList", join(textField(2, item), messageField(2, messageField(1, textField(1, "b"))))))), 1000)
			start, err = l.Next()
			if m, _ := ParseMeta(start); !errors.Is(err, ErrTooLarge) || string(m.Name) != "web" || string(m.Namespace) != "prod" {
				t.Errorf("%s, %d: item: %+v, %v", way, size, m, err)
			}
			next, err := l.Next()
			if m, _ := ParseMeta(next); err != nil || string(m.Name) != "b" {
				t.Errorf("%s, %d: item behind it: %v", way, size, err)
			}
		}
	}
	// A frame that is cut off before the limit ends too early. It is not too large.
	frame := frameOf("DELETED", largeObject(5000))
	for n := 5; n < len(frame); n += 100 {
		r := NewFrameReader(bytes.NewReader(frame[:n]), 1000)
		if start, err := r.Next(); start != nil || err == nil || errors.Is(err, ErrTooLarge) {
			t.Fatalf("cut at %d: %d bytes, %v", n, len(start), err)
		}
	}
}
