package informer_test

import (
	"context"
	"errors"
	"os"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// widget is a custom resource as a user would write it.
type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              widgetSpec `json:"spec"`
}

type widgetSpec struct {
	Node string `json:"node,omitempty"`
	Size int    `json:"size,omitempty"`
}

type key = types.NamespacedName

// projection is an object without metadata. All tests use this one, since each further type with
// another memory layout is compiled with the whole informer, which takes seconds. As a pointer, it
// shares the code of the widgets.
type projection = *projected

type projected struct {
	Key  key
	Text string
	Size int
}

func (p *projected) key() (key, error) { return p.Key, nil }

// text is empty without an object.
func (p *projected) text() string {
	if p == nil {
		return ""
	}
	return p.Text
}

func newWidget(namespace, name, node string) *widget {
	return &widget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       widgetSpec{Node: node},
	}
}

var byNode = index.New("node", func(dst []string, w *widget) []string { return append(dst, w.Spec.Node) })

// newServer is an in-memory API server that has widgets.
func newServer(t testing.TB) *fake.Server {
	t.Helper()
	return serverWith(t, fake.Options{})
}

func serverWith(t testing.TB, opts fake.Options) *fake.Server {
	t.Helper()
	server := fake.New(opts)
	if err := fake.Register(server, kind.Of[*widget](schema.GroupVersion{Group: "example.com", Version: "v1"}, "widgets"), fake.Rules{}); err != nil {
		t.Fatal(err)
	}
	return server
}

func source(t testing.TB, server *fake.Server) *fake.Source[*widget] {
	t.Helper()
	src, err := fake.NewSource[*widget](server, fake.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func newInformer(t testing.TB, src reflector.Source[*widget], opts informer.Options[*widget]) *informer.Informer[key, *widget] {
	t.Helper()
	if opts.Indexes == nil {
		opts.Indexes = index.Of(byNode)
	}
	opts.Packed = opts.Packed || allPacked() && opts.Mutations == 0
	inf, err := informer.New(src, store.ObjectKey, opts)
	if err != nil {
		t.Fatal(err)
	}
	return inf
}

// allPacked reports whether the tests run with packed objects, as .ci/run lets them once more.
func allPacked() bool { return os.Getenv("KINFORM_PACKED") != "" }

// sameWidget reports whether two objects of the store are one. Packed ones are new at each read.
func sameWidget(a, b *widget) bool {
	return a == b || allPacked() && reflect.DeepEqual(a, b)
}

// run starts inf, waits until nothing moves any more, and returns how to stop it, which
// checks that Run returned nil. In a synctest bubble only.
func run[T any](t testing.TB, inf *informer.Informer[key, T]) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(ctx) }()
	synctest.Wait()
	return func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
	}
}

// must1 fails the test on an error and passes the value on.
func must1[V any](v V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// ignore makes OnError silent where a test expects errors that it does not look at.
func ignore(error) {}

// errorsOf collects the errors of OnError, which several goroutines may call at once.
type errorsOf struct {
	mu  sync.Mutex
	all []error
}

func (e *errorsOf) add(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, err)
}

// find returns the first error that is an E.
func find[E error](e *errorsOf) (target E, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, err := range e.all {
		if errors.As(err, &target) {
			return target, true
		}
	}
	return target, false
}
