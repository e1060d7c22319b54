package kubeproto

import (
	"encoding/binary"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/internal/memtest"
)

// wrap puts an object's own bytes into an envelope.
func wrap(apiVersion, kind string, raw []byte) []byte {
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: raw}
	data, err := u.Marshal()
	if err != nil {
		panic(err) // it is our own
	}
	return append([]byte("k8s\x00"), data...)
}

// pod is an object with a name only.
func pod(apiVersion, kind, name string) []byte {
	return wrap(apiVersion, kind, messageField(1, textField(1, name)))
}

func frameOf(typ string, object []byte) []byte {
	w := metav1.WatchEvent{Type: typ, Object: runtime.RawExtension{Raw: object}}
	data, err := w.Marshal()
	if err != nil {
		panic(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)
}

func bigEndian(data []byte) uint32 { return binary.BigEndian.Uint32(data) }

func TestParseEnvelope(t *testing.T) {
	e, err := ParseEnvelope(pod("apps/v1", "Deployment", "web"))
	if err != nil {
		t.Fatal(err)
	}
	if string(e.APIVersion) != "apps/v1" || string(e.Kind) != "Deployment" || string(e.Raw) != string(messageField(1, textField(1, "web"))) ||
		len(e.ContentEncoding) != 0 || len(e.ContentType) != 0 {
		t.Errorf("got %q", e)
	}
	for _, none := range []string{"", "k8s", "{}", "k8s\x01"} {
		if _, err := ParseEnvelope([]byte(none)); err != ErrNoEnvelope {
			t.Errorf("%q: %v", none, err)
		}
	}
	var where *DecodeError
	if _, err := ParseEnvelope(append([]byte("k8s\x00"), messageField(1, numberField(2, 1))...)); !errors.As(err, &where) || where.Path != "typeMeta.kind" {
		t.Errorf("a number for the kind: %v", err)
	}
}

func TestParseWatchEvent(t *testing.T) {
	object := pod("v1", "Pod", "web")
	w, err := ParseWatchEvent(frameOf("MODIFIED", object)[4:])
	if err != nil || string(w.Type) != "MODIFIED" || string(w.Object) != string(object) {
		t.Errorf("got %q, %v", w, err)
	}
	if _, err := ParseWatchEvent([]byte(`{"type":"ADDED"}`)); err == nil {
		t.Error("JSON was taken for a frame")
	}
}

func TestParseMeta(t *testing.T) {
	for value, end := range map[string]bool{"true": true, "false": false, "": false} {
		p := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: "n", Namespace: "ns", UID: "u", ResourceVersion: "12", Finalizers: []string{"f"},
			Annotations: map[string]string{"a": "true", metav1.InitialEventsAnnotationKey: value, "z": "true"},
		}}
		raw, err := p.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		raw = join(textField(2, "spec"), raw, numberField(3, 1))
		m, err := ParseMeta(raw)
		if err != nil || string(m.Name) != "n" || string(m.Namespace) != "ns" ||
			string(m.ResourceVersion) != "12" || m.InitialEventsEnd != end {
			t.Errorf("%q: got %+v, %v", value, m, err)
		}
	}
	m, err := ParseMeta(join(messageField(1, textField(1, "n"), numberField(6, 1))))
	var where *DecodeError
	if string(m.Name) != "n" || !errors.As(err, &where) || where.Path != "metadata.resourceVersion" {
		t.Errorf("bad metadata: got %+v, %v", m, err)
	}
}

func TestParsingAllocatesNothing(t *testing.T) {
	frame := frameOf("ADDED", pod("v1", "Pod", "web"))[4:]
	if n := memtest.Allocs(100, func() {
		w, _ := ParseWatchEvent(frame)
		e, _ := ParseEnvelope(w.Object)
		if m, err := ParseMeta(e.Raw); err != nil || string(m.Name) != "web" {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestDecodeStatus(t *testing.T) {
	want := &metav1.Status{Status: "Failure", Reason: metav1.StatusReasonExpired, Code: 410}
	raw, err := want.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeStatus(raw)
	if err != nil || got.Kind != "Status" || got.APIVersion != "v1" || got.Reason != want.Reason || got.Code != 410 {
		t.Errorf("got %+v, %v", got, err)
	}
	var where *DecodeError
	if _, err := DecodeStatus([]byte{0x80}); !errors.As(err, &where) {
		t.Errorf("garbage: %v", err)
	}
}
