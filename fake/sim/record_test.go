package sim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/fake/sim/internal/planted"
)

// secret has the fields of a Secret that a record must not show.
type secret struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string][]byte `json:"data,omitempty"`
	StringData        map[string]string `json:"stringData,omitempty"`
}

func (s *secret) DeepCopy() *secret {
	c := *s
	c.ObjectMeta = *s.ObjectMeta.DeepCopy()
	return &c
}

var (
	secrets  = kinform.KindOf[*secret](schema.GroupVersion{Version: "v1"}, "secrets")
	one, two = kinform.Key{Namespace: "prod", Name: "one"}, kinform.Key{Namespace: "prod", Name: "two"}
)

func recordServer(t *testing.T) *fake.Server {
	t.Helper()
	server := fake.New(fake.Options{CollectGarbage: true})
	err := errors.Join(fake.Register(server, secrets, fake.Rules{}), fake.Register(server, planted.Shops, fake.Rules{}))
	if err != nil {
		t.Error(err)
	}
	return server
}

// runShops makes a Shop for each Secret but two, with the number of the Secret's labels and the phase that the Shop has.
func runShops(ctx context.Context, to client.Connection) error {
	from, shops := kinform.Open(to, secrets), kinform.Open(to, planted.Shops)
	c := controller.New("shops", func(ctx context.Context, key kinform.Key) error {
		of, ok := from.Cached(key)
		if !ok || key == two {
			return nil
		}
		_, _, err := controller.CreateOrUpdate(ctx, shops, fake.Object(&planted.Shop{}, key.Namespace, key.Name), func(s *planted.Shop) error {
			s.Spec.Host = fmt.Sprint(len(of.Labels), s.Status.Phase)
			return controller.SetController(s, of, secrets)
		})
		return err
	})
	controller.For(c, from)
	controller.Owns(c, from, shops)
	return c.Run(ctx)
}

// steps are what others do on a server while the program is recorded.
func steps(server *fake.Server) []func() error {
	create := func(key kinform.Key) func() error {
		s := &secret{Data: map[string][]byte{"password": []byte("hunter2")}, StringData: map[string]string{"token": "hunter3"}}
		s.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": `{"data":{"password":"hunter4"}}`}
		return func() error { _, err := fake.Create(server, fake.Object(s, key.Namespace, key.Name)); return err }
	}
	return []func() error{
		create(one), create(two),
		func() error {
			_, err := fake.Patch[*secret](server, one, []byte(`{"metadata":{"labels":{"team":"hunter6"}},"data":{"password":"aHVudGVyNQ=="}}`))
			return err
		},
		func() error {
			_, err := fake.ChangeStatus(server, one, "others", func(s *planted.Shop) error { s.Status.Phase = "up"; return nil })
			return err
		},
		func() error { _, err := fake.Delete[*secret](server, two); return err },
	}
}

// end is what is there in the end.
func end(server *fake.Server) (rows []string, err error) {
	from, err := fake.List[*secret](server, fake.Selection{})
	made, failed := fake.List[*planted.Shop](server, fake.Selection{})
	for _, s := range from {
		rows = append(rows, fmt.Sprint("secret ", s.Name, len(s.Labels)))
	}
	for _, s := range made {
		rows = append(rows, fmt.Sprint("shop ", s.Name, s.Spec, s.Status, metav1.IsControlledBy(s, from[0])))
	}
	return rows, errors.Join(err, failed)
}

// file is a record that is being written.
type file struct {
	mu    sync.Mutex
	grown sync.Cond
	text  bytes.Buffer
}

func (f *file) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.grown.Broadcast()
	return f.text.Write(line)
}

// until waits until a text is there so many times.
func (f *file) until(text string, times int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for bytes.Count(f.text.Bytes(), []byte(text)) < times {
		f.grown.Wait()
	}
}

// record returns the record of a program at work on a server that listens, and what was there in the end.
func record(t *testing.T) (text []byte, rows []string) {
	t.Helper()
	server, f := recordServer(t), &file{}
	f.grown.L = &f.mu
	url, transport := faketest.Listen(t, server), &http.Transport{}
	defer transport.CloseIdleConnections()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- runShops(ctx, client.Connection{URL: url, HTTP: &http.Client{Transport: sim.Record(f, transport)}})
	}()
	var errs []error
	answers := []func(){
		func() { f.until(`"own":`, 1) },
		func() { f.until(`"name":"two"`, 1) },
		func() { f.until(`"own":`, 2) },
		func() { f.until(`"own":`, 3) },
		func() { f.until(`"gone":`, 1) },
	}
	for n, do := range steps(server) {
		errs = append(errs, do())
		answers[n]()
	}
	stop()
	rows, err := end(server)
	if err := errors.Join(append(errs, err, <-ended)...); err != nil {
		t.Fatal(err)
	}
	return f.text.Bytes(), rows
}

// replay plays a record, or returns why that does not work.
func replay(t *testing.T, text []byte) (rows []string, err error) {
	t.Helper()
	found := sim.Search(t, func() sim.Program {
		return sim.Program{Server: recordServer(t), Run: runShops, Users: sim.Recorded(text), Finally: func(w *sim.World) (err error) {
			rows, err = end(w.Server)
			return err
		}}
	}, 20)
	if found != nil {
		err = errors.New(found.Text)
	}
	return rows, err
}

// What others did on a server that listens, they do again. Nothing of a Secret's values is in the record.
func TestRecord(t *testing.T) {
	text, want := record(t)
	if bytes.Contains(text, []byte("hunter")) || bytes.Contains(text, []byte("aHVudGVy")) {
		t.Errorf("the record has a password:\n%s", text)
	}
	if len(want) != 2 || !strings.Contains(want[1], "1up") {
		t.Errorf("the recorded program left %q", want)
	}
	got, err := replay(t, text)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("the end of the record is %q, and that of the replay %q, %v\n%s", want, got, err, text)
	}
}

// answer is a transport that answers each request with a text.
type answer string

func (a answer) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(a)))}, nil
}

// Values that may be secret are not in a record. What a replay needs is.
func TestRecordLeavesOut(t *testing.T) {
	const stays = `"creationTimestamp":"t","finalizers":["f"],"labels":{"l":"7"},"name":"n","namespace":"b","ownerReferences":[{"uid":"2"}],"resourceVersion":"7","uid":"1"`
	for _, c := range []struct{ path, body, want string }{
		{
			"secrets", `{"kind":"Secret","type":"Opaque","data":{"p":"hunter"},"stringData":{"p":"hunter"},"more":"hunter","metadata":{"annotations":{"a":"hunter"},"managedFields":["hunter"],` + strings.Replace(stays, `"l":"7"`, `"l":"hunter"`, 1) + `}}`,
			`{"at":0,"path":"/api/v1/secrets","saw":{"data":{"p":"Nw=="},"kind":"Secret","metadata":{"annotations":{"a":"7"},` + stays + `},"type":"Opaque"}}`,
		},
		{
			"pods", `{"metadata":{"annotations":{"json":"{}","list":" []","yaml":"data:\n","gzip":"` + strings.Repeat("H4sIA", 30) + `","stays":"yes"},"managedFields":[],"uid":"1"}}`,
			`{"at":0,"path":"/api/v1/pods","saw":{"metadata":{"annotations":{"stays":"yes"},"uid":"1"}}}`,
		},
		{"secrets", `{"kind":"Table","rows":[{"cells":["hunter"]}]}`, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			var text strings.Builder
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/namespaces/b/"+c.path+"/n", nil)
			got, err := sim.Record(&text, answer(c.body)).RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			if body, _ := io.ReadAll(got.Body); string(body) != c.body || strings.TrimSpace(text.String()) != c.want {
				t.Errorf("recorded %s\n    want %s\nthe program got %s", text.String(), c.want, body)
			}
		})
	}
}

// A file that is no record says which line is wrong.
func TestBadRecord(t *testing.T) {
	const object = `"saw":{"metadata":{"name":"a","namespace":"b","uid":"1"}}`
	text, _ := record(t)
	for bad, want := range map[string]string{
		string(text[:len(text)-20]):   "the file was cut off or changed",
		"hello\n":                     "line 1 of the record: invalid character",
		`{"at":1,"more":1}`:           `unknown field "more"`,
		`{"path":"x",` + object + `}`: "line 1 of the record: an object without a uid, or",
		"{}\n" + `{"path":"/apis/a.b/v1/cs",` + object + `}`: "line 2 of the record: /apis/a.b/v1/namespaces/b/cs/a: the server could not find the requested resource",
	} {
		if _, err := replay(t, []byte(bad)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error of %.60q is %v, want %q", bad, err, want)
		}
	}
}

// A user deletes an object that a finalizer holds, and makes another one of the name. The record has both, although the
// program's last write has the version of the user's deletion.
func TestRecordOfFinalizer(t *testing.T) {
	var text bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		program := planted.Jobs()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		through := &http.Client{Transport: sim.Record(&text, program.Server.Client().Transport)}
		go func() { ended <- program.Run(ctx, client.Connection{URL: fake.URL, HTTP: through}) }()
		for range 2 {
			_, err := fake.Create(program.Server, fake.Object(&planted.Shop{Spec: planted.ShopSpec{Host: "h", Size: 1}}, "prod", "one"))
			time.Sleep(time.Minute)
			if _, failed := fake.Delete[*planted.Shop](program.Server, one); err != nil || failed != nil {
				t.Error(err, failed)
			}
			time.Sleep(time.Minute)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	deleted := 0
	found := sim.Search(t, func() sim.Program {
		program := planted.Jobs()
		program.Users = sim.Recorded(text.Bytes())
		program.Finally = func(w *sim.World) error {
			deleted = w.Server.Requests().Count(faults.VerbDelete, schema.GroupResource{Group: "example.com", Resource: "shops"})
			return nil
		}
		return program
	}, 30)
	if found != nil || deleted != 2 {
		t.Errorf("%d deletions, want 2; %+v\n%s", deleted, found, text.Bytes())
	}
}
