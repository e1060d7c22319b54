package fake_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
)

var busy = faults.Refusal(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, 7)

func TestInjectRefuses(t *testing.T) {
	s := newServer(t, fake.Options{})
	for name, f := range map[string]faults.Fault{
		"no action":       {},
		"two actions":     {Status: busy, Silent: true},
		"silent list":     {Silent: true, Verb: faults.VerbList},
		"events of a get": {CutEvents: 1, Verb: faults.VerbGet},
		"unknown verb":    {Status: busy, Verb: "eat"},
		"negative":        {CutBytes: -1},
		"no refusal":      {Status: faults.Refusal(200, "", 0)},
	} {
		if err := s.Inject(f); !errors.Is(err, faults.ErrFault) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _, err := list(t, s, fake.Selection{}, metav1.ListOptions{})
	check(t, err)
}

func TestRefusalsAreCounted(t *testing.T) {
	s := newServer(t, fake.Options{})
	must(fake.Create(s, newPod("a", "p")))(t)
	check(t, s.Inject(faults.Fault{Verb: faults.VerbList, Resource: schema.GroupResource{Resource: "pods"}, Skip: 1, Times: 2, Status: busy}))
	var codes []int
	for range 5 {
		code, body, header := call(t, s, "GET", "/api/v1/pods", "")
		codes = append(codes, code)
		if code == 429 && (header.Get("Retry-After") != "7" || !strings.Contains(body, `"retryAfterSeconds":7`)) {
			t.Errorf("%v %s", header, body)
		}
		for _, path := range []string{"/api/v1/nodes", "/api/v1/namespaces/a/pods/p"} {
			if code, _, _ := call(t, s, "GET", path, ""); code != 200 {
				t.Errorf("%s: %d, the fault is not for it", path, code)
			}
		}
	}
	if d := cmp.Diff([]int{200, 429, 429, 200, 200}, codes); d != "" {
		t.Error(d)
	}
	check(t, s.Inject(faults.Fault{Times: -1, Status: faults.Refusal(403, metav1.StatusReasonForbidden, 0)}))
	for range 3 {
		_, _, err := list(t, s, fake.Selection{}, metav1.ListOptions{})
		wantStatus(t, err, 403, metav1.StatusReasonForbidden)
	}
	must(fake.Get[*pod](s, key("a", "p")))(t) // the stage itself is spared
	s.ClearFaults()
	_, _, err := list(t, s, fake.Selection{}, metav1.ListOptions{})
	check(t, err)
}

func TestRefusedWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, fake.Options{})
		gone := faults.Refusal(410, metav1.StatusReasonExpired, 0)
		check(t, s.Inject(faults.Fault{Verb: faults.VerbWatch, Status: gone}))
		_, err := record(t, s, fake.Selection{}, metav1.ListOptions{}).end()
		if !apierrors.IsResourceExpired(err) {
			t.Errorf("refused with %v", err)
		}
		if ended, err := record(t, s, fake.Selection{}, metav1.ListOptions{}).end(); ended {
			t.Errorf("the second watch ended: %v", err)
		}
	})
}

func TestSilentWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, fake.Options{})
		check(t, s.Inject(faults.Fault{Silent: true, Times: 3}))
		seconds := int64(60)
		timed := record(t, s, fake.Selection{}, metav1.ListOptions{TimeoutSeconds: &seconds, AllowWatchBookmarks: true})
		dropped := record(t, s, fake.Selection{}, metav1.ListOptions{})
		resp := must(s.Client().Get(fake.URL + "/api/v1/pods?watch=1&timeoutSeconds=60"))(t)
		defer resp.Body.Close()
		good := record(t, s, fake.Selection{}, metav1.ListOptions{})
		must(fake.Create(s, newPod("a", "p")))(t)
		s.Bookmark()
		good.want(t, "ADDED 2 a/p node=")
		time.Sleep(time.Minute)
		timed.want(t)
		if ended, err := timed.end(); !ended || err != nil {
			t.Errorf("ended %t, %v", ended, err)
		}
		if body := must(io.ReadAll(resp.Body))(t); len(body) != 0 {
			t.Errorf("sent %s", body)
		}
		s.DropWatches()
		if _, err := dropped.end(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("dropped with %v", err)
		}
	})
}

func TestCutEvents(t *testing.T) {
	for _, surface := range []string{"source", "http"} {
		s := fivePods(t)
		check(t, s.Inject(faults.Fault{CutEvents: 2, Times: 2}))
		if surface == "source" {
			lines, _, err := list(t, s, fake.Selection{}, metav1.ListOptions{})
			if len(lines) != 2 || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("list: %v, %v", lines, err)
			}
			n, last := 0, error(nil)
			for _, err := range must(fake.NewSource[*pod](s, fake.Selection{}))(t).Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"}) {
				n, last = n+1, err
			}
			if n != 3 || !errors.Is(last, io.ErrUnexpectedEOF) {
				t.Errorf("watch: %d, %v", n, last)
			}
			continue
		}
		for path, want := range map[string]int{"/api/v1/pods": 2, "/api/v1/pods?watch=1&resourceVersion=1": 2} {
			body, err := readBroken(t, s, path)
			if got := strings.Count(body, `"uid"`); got != want || err == nil {
				t.Errorf("%s: %d objects, %v: %s", path, got, err, body)
			}
		}
	}
}

func readBroken(t *testing.T, s *fake.Server, path string) (string, error) {
	t.Helper()
	resp, err := s.Client().Get(fake.URL + path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("broken by %v", err)
	}
	return string(b), err
}

func TestCutBytes(t *testing.T) {
	s := fivePods(t)
	_, whole, _ := call(t, s, "GET", "/api/v1/pods", "")
	for _, n := range []int{1, 10, len(whole) - 1, len(whole)} {
		check(t, s.Inject(faults.Fault{Verb: faults.VerbList, CutBytes: n}))
		_, _, err := list(t, s, fake.Selection{}, metav1.ListOptions{})
		check(t, err) // a source has no bytes and does not use the fault up
		if body, err := readBroken(t, s, "/api/v1/pods"); body != whole[:n] || err == nil {
			t.Errorf("cut after %d: %d bytes, %v", n, len(body), err)
		}
	}
	check(t, s.Inject(faults.Fault{Verb: faults.VerbWatch, CutBytes: 30}))
	if body, err := readBroken(t, s, "/api/v1/pods?watch=1&resourceVersion=1"); len(body) != 30 || err == nil {
		t.Errorf("watch cut after 30: %q, %v", body, err)
	}
	if _, body, _ := call(t, s, "GET", "/api/v1/pods", ""); body != whole {
		t.Error("the faults are used up, yet the list differs")
	}
}
