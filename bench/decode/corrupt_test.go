package decode

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"testing"

	"github.com/kinform/kinform/internal/kubeproto"
)

// TestCorruptBytes changes encoded objects at random. Both decoders must refuse the result,
// or both must get the same from it. Ours must not panic; where the generated code does,
// ours must refuse.
func TestCorruptBytes(t *testing.T) {
	tries := 60
	if testing.Short() {
		tries = 10
	}
	refused, equal := 0, 0
	for _, k := range knownTypes(t) {
		for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
			data := encoded(k, filler(seed))
			random := rand.New(rand.NewSource(seed))
			for try := range tries {
				bad := corrupt(data, random)
				name := fmt.Sprintf("%v, seed %d, try %d", k.gvk, seed, try)
				if agree(t, k, name, bad) {
					equal++
				} else {
					refused++
				}
			}
		}
	}
	t.Logf("%d refused, %d decoded", refused, equal)
	if refused == 0 || equal == 0 {
		t.Error("one of the outcomes never came")
	}
}

// agree has both decoders decode data and compares. It returns whether they could.
func agree(t testing.TB, k known, name string, data []byte) bool {
	t.Helper()
	want := k.fresh()
	wantErr := unmarshal(want, data)
	got, err := k.decode(data, kubeproto.Options{})
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s: got error %v, the generated code %v\n%x", name, err, wantErr, data)
	}
	if err != nil {
		var where *kubeproto.DecodeError
		if !errors.As(err, &where) || where.Offset < 0 || where.Offset > len(data) {
			t.Fatalf("%s: an error that does not say where: %v", name, err)
		}
		return false
	}
	requireEqual(t, name, got, want)
	return true
}

// unmarshal makes an error of a panic of the generated code.
func unmarshal(into message, data []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return into.Unmarshal(data)
}

// corrupt returns data with one to three changes.
func corrupt(data []byte, random *rand.Rand) []byte {
	out := bytes.Clone(data)
	for range 1 + random.Intn(3) {
		at, to := random.Intn(len(out)+1), random.Intn(len(out)+1)
		at, to = min(at, to), max(at, to)
		piece := bytes.Clone(out[at:min(to, at+8)])
		switch random.Intn(6) {
		case 0: // a bit
			if at < len(out) {
				out[at] ^= 1 << random.Intn(8)
			}
		case 1: // a byte
			if at < len(out) {
				out[at] = byte(random.Intn(256))
			}
		case 2:
			out = out[:to]
		case 3: // a piece goes
			out = append(out[:at:at], out[at+len(piece):]...)
		case 4: // a piece comes twice
			out = append(out[:at:at], append(piece, out[at:]...)...)
		default: // something new
			extra := make([]byte, 1+random.Intn(10))
			random.Read(extra)
			out = append(out[:at:at], append(extra, out[at:]...)...)
		}
	}
	return out
}
