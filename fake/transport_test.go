package fake_test

import (
	"bufio"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

func TestClientStreamsInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, fake.Options{})
		start := time.Now()
		resp := must(s.Client().Get(fake.URL + "/api/v1/pods?watch=true&resourceVersion=1&timeoutSeconds=60"))(t)
		time.AfterFunc(time.Second, func() { fake.Create(s, newPod("a", "p")) })
		lines := bufio.NewReader(resp.Body)
		must(lines.ReadString('\n'))(t)
		if d := time.Since(start); d != time.Second {
			t.Errorf("event after %v", d)
		}
		if _, err := lines.ReadString('\n'); err != io.EOF {
			t.Errorf("ended with %v", err)
		}
		if d := time.Since(start); d != time.Minute {
			t.Errorf("ended after %v", d)
		}
		check(t, resp.Body.Close())
	})
}

// sluggish takes a minute to encode.
type sluggish struct {
	metav1.ObjectMeta `json:"metadata"`
	encoded           *atomic.Bool
}

func (o *sluggish) MarshalJSON() ([]byte, error) {
	time.Sleep(time.Minute)
	o.encoded.Store(true)
	return []byte(`{"metadata":{}}`), nil
}

func (o *sluggish) DeepCopyObject() runtime.Object { c := *o; return &c }

func (o *sluggish) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// TestCloseWaitsForTheHandler closes while the handler is at work: when Close returns,
// nothing of the request may still run.
func TestCloseWaitsForTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fake.New(fake.Options{})
		check(t, fake.Register(s, kind.Of[*sluggish](v1, "snails"), fake.Rules{}))
		obj := &sluggish{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "o"}, encoded: new(atomic.Bool)}
		must(fake.Create(s, obj))(t)
		resp := must(s.Client().Get(fake.URL + "/api/v1/snails?watch=true&resourceVersion=1"))(t)
		synctest.Wait()
		check(t, resp.Body.Close())
		if !obj.encoded.Load() {
			t.Error("Close returned while the handler was encoding")
		}
	})
}

// bomb panics when it is encoded, but for its first copy.
type bomb struct{ widget }

func (b *bomb) DeepCopyObject() runtime.Object { return nil }
func (b *bomb) MarshalJSON() ([]byte, error)   { panic("boom") }

func (b *bomb) GetLabels() map[string]string { panic("boom") }

// TestUserCodeThatPanics checks that objects with broken methods break no more than the
// calls that touch them.
func TestUserCodeThatPanics(t *testing.T) {
	s := newServer(t, fake.Options{})
	type broken struct{ bomb }
	check(t, fake.Register(s, kind.Of[*broken](exampleV1, "brokens"), fake.Rules{}))
	code, body, _ := call(t, s, "POST", "/apis/example.com/v1/namespaces/a/brokens", `{"kind":"Broken","apiVersion":"example.com/v1","metadata":{"name":"b"}}`)
	if code != 500 || !strings.Contains(body, "boom") {
		t.Errorf("POST: %d %s", code, body)
	}
	if code, body, _ := call(t, s, "GET", "/apis/example.com/v1/namespaces/a/brokens", ""); code != 200 {
		t.Errorf("LIST: %d %s", code, body)
	}
	must(fake.Create(s, newPod("a", "p")))(t)
}
