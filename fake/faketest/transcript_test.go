package faketest_test

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faketest"
)

// failing is a test that has failed, or not.
type failing struct {
	*testing.T
	failed  bool
	cleanup []func()
	logged  string
}

func (f *failing) Failed() bool                 { return f.failed }
func (f *failing) Cleanup(end func())           { f.cleanup = append(f.cleanup, end) }
func (f *failing) Logf(text string, all ...any) { f.logged += fmt.Sprintf(text, all...) }

func TestTranscript(t *testing.T) {
	var requests faketest.Transcript
	at := time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
	s := serverWith(t, fake.Options{Seen: requests.Add, Now: func() time.Time { return at }})
	c, err := client.New(client.Connection{URL: fake.URL, HTTP: s.Client()}, podKind, client.Options{Namespace: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second is refused
		_, _ = c.Create(t.Context(), newPod("a", "x"), metav1.CreateOptions{})
	}
	if got := requests.Take(); len(got) != 2 || !got[0].Writes() {
		t.Errorf("two creates: %v", got)
	}
	if _, err := c.Get(t.Context(), types.NamespacedName{Name: "x"}, metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := requests.Take(); len(got) != 1 || got[0].Writes() || len(requests.Take()) > 0 {
		t.Errorf("a get: %v", got)
	}
	for _, failed := range []bool{false, true} {
		f := &failing{T: t, failed: failed}
		requests.ShowOnFailure(f)
		f.cleanup[0]()
		want := ""
		if failed {
			want = "requests:\n" +
				"03:04:05.006 create pods a/x: 201 (kinform)\n" +
				"03:04:05.006 create pods a/x: 409 pods \"x\" already exists (kinform)\n" +
				"03:04:05.006 get pods a/x: 200 (kinform)\n"
		}
		if f.logged != want {
			t.Errorf("failed %t, logged\n%s\nwant\n%s", failed, f.logged, want)
		}
	}
}

// TestListen has a watch open at the end of the test.
func TestListen(t *testing.T) {
	s := newServer(t)
	var lines *bufio.Scanner
	t.Run("test", func(t *testing.T) {
		tr := &http.Transport{}
		t.Cleanup(tr.CloseIdleConnections)
		resp, err := (&http.Client{Transport: tr}).Get(faketest.Listen(t, s) + "/api/v1/pods?watch=true")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		if _, err := fake.Create(s, newPod("a", "x")); err != nil {
			t.Fatal(err)
		}
		if lines = bufio.NewScanner(resp.Body); !lines.Scan() || !strings.HasPrefix(lines.Text(), `{"type":"ADDED"`) {
			t.Errorf("the watch has %q", lines.Text())
		}
	})
	if lines.Scan() {
		t.Errorf("after the end: %s", lines.Text())
	}
}
