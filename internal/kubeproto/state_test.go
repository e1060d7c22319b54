package kubeproto

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// lengthDelimited is one length-delimited field.
func lengthDelimited(num byte, content string) []byte {
	return append([]byte{num<<3 | wireBytes, byte(len(content))}, content...)
}

// stateSamples are objects, and whether ScanState reads them.
func stateSamples() map[string]bool {
	name, uid, rv := lengthDelimited(1, "a"), lengthDelimited(5, "u"), lengthDelimited(6, "7")
	meta := slices.Concat(name, lengthDelimited(3, "n"), uid, rv)
	of := func(parts ...[]byte) []byte { return lengthDelimited(1, string(slices.Concat(parts...))) }
	spec, unknown := lengthDelimited(2, "\xff\xff"), []byte{15 << 3, 1}
	return map[string]bool{
		string(of(meta)):                                             true,
		string(slices.Concat(spec, of(meta))):                        true, // last
		string(slices.Concat(of(meta), unknown)):                     true,
		string(of(meta, unknown)):                                    true,
		string(slices.Concat(of(meta), of(meta))):                    false, // twice
		string(slices.Concat(of(), of(meta))):                        false,
		string(of(meta, uid)):                                        false,
		string(of(meta, []byte{5 << 3, 1})):                          false, // no text
		string(of(name, uid)):                                        false,
		string(of(name, rv)):                                         false,
		string(of(uid, rv)):                                          false,
		string(of(name, lengthDelimited(5, ""), rv)):                 false,
		string(of(meta)[:10]):                                        false, // cut off
		string(slices.Concat(of(meta), []byte{2<<3 | wireBytes, 9})): false,
		string([]byte{1 << 3, 1}):                                    false,
		"":                                                           false,
	}
}

func TestScanState(t *testing.T) {
	for raw, want := range stateSamples() {
		if s, ok := ScanState([]byte(raw)); ok != want {
			t.Errorf("ScanState(%q) = %q, %t", raw, s, ok)
		}
		checkState(t, []byte(raw))
	}
}

// checkState compares ScanState with the generated decoder of metadata, and its shortcut with the
// long way.
func checkState(t *testing.T, raw []byte) {
	t.Helper()
	for i := range raw {
		num, wire, start, next := scanField(raw, i)
		if f := readField(raw, i); f.next != next || next >= 0 && (f.num != num || f.wire != wire || wire == wireBytes && (f.start != start || f.end != next)) {
			t.Fatalf("scanField(%q, %d) = %d, %d, %d, %d, want %+v", raw, i, num, wire, start, next, f)
		}
	}
	s, ok := ScanState(raw)
	var want metav1.PartialObjectMetadata
	if !ok || want.Unmarshal(raw) != nil {
		return
	}
	if string(s.Name) != want.Name || string(s.Namespace) != want.Namespace || string(s.UID) != string(want.UID) || string(s.ResourceVersion) != want.ResourceVersion {
		t.Errorf("ScanState(%q) = %q, want %+v", raw, s, want.ObjectMeta)
	}
}

func FuzzScanState(f *testing.F) {
	for raw := range stateSamples() {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { checkState(t, raw) })
}
