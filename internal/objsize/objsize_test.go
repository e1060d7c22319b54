package objsize

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/memtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type node struct {
	Name   string
	Next   *node
	hidden []byte
}

func TestOf(t *testing.T) {
	ring := &node{Name: "abc"}
	ring.Next = ring
	deep := &node{}
	for range 10 * maxDepth {
		deep = &node{Next: deep}
	}
	for name, c := range map[string]struct {
		of       any
		from, to uint64
	}{
		"nil":              {nil, 0, 0},
		"a nil pointer":    {(*node)(nil), 0, 0},
		"a string":         {strings.Repeat("x", 100), 128, 128},
		"a ring":           {ring, 56, 56},
		"a hidden field":   {&node{hidden: make([]byte, 1000)}, 48, 48},
		"a nil map":        {map[string]int(nil), 0, 0},
		"a slice's room":   {make([]int64, 0, 10), 104, 104},
		"deeper than read": {deep, 48, 48 * (maxDepth + 1)},
		"more than read":   {make([]string, 10*maxSteps), 16 * 10 * maxSteps, 16*10*maxSteps + 24},
		"channel, func":    {&struct{ C chan int }{}, 8, 8},
		"time":             {&metav1.Time{Time: time.Now()}, 32, 32},
	} {
		if got := Of(c.of); got < c.from || got > c.to {
			t.Errorf("%s: %d bytes, want %d to %d", name, got, c.from, c.to)
		}
	}
}

// The estimate of decoded objects is near what the heap says.
func TestHeap(t *testing.T) {
	if memtest.Race {
		t.Skip("the race detector changes sizes")
	}
	text := []byte(`{"name":"web-1","namespace":"prod","labels":{"app":"web","tier":"front","zone":"eu-1"},"managedFields":[
		{"manager":"kubectl","operation":"Update","fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:app":{}}}}}],"annotations":{"a":"some longer text here"}}`)
	for name, make := range map[string]func() any{
		"typed":   func() any { return new(metav1.ObjectMeta) },
		"untyped": func() any { return new(map[string]any) },
	} {
		const n = 2000
		all, estimated := [n]any{}, uint64(0)
		before := memtest.Heap()
		for i := range all {
			all[i] = make()
			if err := json.Unmarshal(text, all[i]); err != nil {
				t.Fatal(err)
			}
		}
		after := memtest.Heap()
		for _, v := range all {
			estimated += Of(v)
		}
		got, want := float64(estimated)/n, float64(after-before)/n
		t.Logf("%s: an object takes %.0f bytes, estimated are %.0f", name, want, got)
		if got < want*0.6 || got > want*1.4 {
			t.Errorf("%s: an object takes %.0f bytes, estimated are %.0f", name, want, got)
		}
	}
}

func BenchmarkOf(b *testing.B) {
	obj := &metav1.ObjectMeta{Name: "web", Labels: map[string]string{"a": "b", "c": "d"}, ManagedFields: make([]metav1.ManagedFieldsEntry, 3)}
	b.ReportAllocs()
	for b.Loop() {
		Of(obj)
	}
}
