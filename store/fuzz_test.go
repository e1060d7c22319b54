package store

import (
	"fmt"
	"testing"
)

// FuzzOps reads a string of operations of two bytes each: the operation and its key. It
// compares the store with the model and checks the invariants.
func FuzzOps(f *testing.F) {
	f.Add([]byte("a1b2c3d4e5f6"))
	f.Add([]byte{0, 1, 0, 2, 7, 1, 1, 0, 2, 2, 3, 9, 5, 1, 6, 1, 4, 4, 0, 1, 8, 3})
	f.Add([]byte("\x00\x01\x00\x01\x02\x01\x00\x01\x04\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 600 {
			return
		}
		for _, mask := range []uint32{^uint32(0), 1} {
			d := newDriver(t, 1, 16, mask, len(script)%2 == 0, len(script)%3 == 0)
			var ops []Op[id, *item]
			commit := func() {
				if err := d.s.Commit("", ops); err != nil {
					t.Fatal(err)
				}
				for i := range ops {
					if it := ops[i].Object; it == nil || it.boom == "" {
						d.checkOp(&ops[i], nil)
					} else if ops[i].Err == nil && !ops[i].Unchanged {
						t.Fatal("a panic was not reported")
					}
				}
				ops = nil
			}
			for i := 0; i+1 < len(script); i += 2 {
				k := id{fmt.Sprintf("s%d", script[i+1]%3), int(script[i+1]%16) + 1}
				it := d.item(k)
				switch script[i] % 10 {
				case 0, 1, 2, 3:
					ops = append(ops, Op[id, *item]{Key: k, Object: it})
				case 4, 5:
					ops = append(ops, Op[id, *item]{Key: k, Delete: true})
				case 6:
					it.boom = "tags"
					ops = append(ops, Op[id, *item]{Key: k, Object: it})
				case 7, 8:
					commit()
				case 9:
					commit()
					d.replace()
				}
			}
			commit()
			for range 24 {
				d.read(d.s.Reader(), d.m)
			}
		}
	})
}
