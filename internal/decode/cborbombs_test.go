package decode

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"strings"
	"testing"

	"github.com/kinform/kinform/internal/memtest"
)

type wide struct{ A [50]int64 }

type narrow struct{ A [14]int64 }

type roomy struct {
	List []wide            `json:"list"`
	Map  map[string]narrow `json:"map"`
}

// The library makes room for the members of an array or map although they are not what the type
// takes. The estimate covers that room.
func TestRoomForWrongMembers(t *testing.T) {
	if memtest.Race {
		t.Skip("the race detector allocates too")
	}
	const limit = 1 << 20
	weights := NewWeights(reflect.TypeFor[roomy](), limit)
	c, err := NewCBORCodec(reflect.TypeFor[roomy](), false, false)
	if err != nil {
		t.Fatal(err)
	}
	for name, bomb := range map[string]func(n uint32) []byte{
		"array": func(n uint32) []byte { return append(counted("\xa1\x44list\x9a", n), make([]byte, n)...) },
		"array of texts": func(n uint32) []byte {
			return append(counted("\xa1\x44list\x9a", n), bytes.Repeat([]byte("`"), int(n))...)
		},
		"endless array": func(n uint32) []byte { return []byte("\xa1\x44list\x9f" + strings.Repeat("\x00", int(n)) + "\xff") },
		"map": func(n uint32) []byte {
			b := counted("\xa1\x43map\xba", n)
			for i := range n {
				b = append(b, 0x43, byte(i), byte(i>>8), byte(i>>16), 0)
			}
			return b
		},
	} {
		least, beyond := uint32(0), uint32(limit/5)
		for least+1 < beyond { // the largest that the weights let pass
			n := (least + beyond) / 2
			if weights.checkCBOR(bomb(n)) == nil {
				least = n
			} else {
				beyond = n
			}
		}
		raw := bomb(least)
		const most = (memoryFactor + 2) * limit // with an error for each member
		if got := memtest.Bytes(most, func() { err = c.Unmarshal(raw, new(roomy)) }); err == nil || got > most {
			t.Errorf("%s: %d bytes for %d members: %v", name, got, least, err)
		}
	}
}

func counted(begin string, n uint32) []byte { return binary.BigEndian.AppendUint32([]byte(begin), n) }

// Arrays that a break ends cannot be nested deeply, because their members are counted once per
// array. Those of known length can.
func TestEndlessArrays(t *testing.T) {
	nested := func(begin, end string, n int) []byte {
		return []byte("\xa1\x41a" + strings.Repeat(begin, n) + "\x00" + strings.Repeat(end, n))
	}
	for _, c := range []struct {
		raw  []byte
		fits bool
	}{
		{nested("\x9f", "\xff", maxEndless), true},
		{nested("\x9f", "\xff", maxEndless+1), false},
		{nested("\x9f\xbf\x41a", "\xff\xff", maxEndless+1), false},
		{nested("\xbf\x41a", "\xff", 5*maxEndless), true},
		{nested("\x81", "", 5*maxEndless), true},
		{[]byte("\xa1\x41a\x98\xc8" + strings.Repeat("\x9f\xff", 200)), true},
	} {
		got, err := NewCBOR(bytes.NewReader(c.raw), 1<<20).Object(nil)
		if (err == nil) != c.fits || err == nil && !bytes.Equal(got, c.raw) {
			t.Errorf("%x: %v", c.raw, err)
		}
	}
}
