package debug_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/debug"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/store"
)

type key = types.NamespacedName

// Secret has what no page may show.
type Secret struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]string `json:"data,omitempty"`
}

func (s *Secret) DeepCopy() *Secret {
	c := *s
	c.ObjectMeta = *s.ObjectMeta.DeepCopy()
	return &c
}

func newSecret(name string) *Secret {
	const last = "kubectl.kubernetes.io/last-applied-configuration"
	return &Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, Annotations: map[string]string{last: "hidden-value"}},
		Data:       map[string]string{"password": "hidden-value"},
	}
}

// program is a small program with a page.
type program struct {
	t       testing.TB
	server  *fake.Server
	inf     *informer.Informer[key, *Secret]
	control *controller.Controller[key]
	page    *debug.Page
	run     func(context.Context) error
}

// newProgram makes a program whose reconcile fails for names that begin with "bad", and does not
// return before its context ends for the name "slow".
func newProgram(t testing.TB, opts debug.Options) *program {
	t.Helper()
	p := &program{t: t, server: fake.New(fake.Options{}), page: debug.New(opts)}
	err := fake.Register(p.server, kind.Of[*Secret](schema.GroupVersion{Version: "v1"}, "secrets"), fake.Rules{})
	source, failed := fake.NewSource[*Secret](p.server, fake.Selection{})
	p.inf, _ = informer.New(source, store.ObjectKey[*Secret], informer.Options[*Secret]{})
	p.control = controller.New("", reconcile, controller.Options[key]{
		Run:   queue.RunOptions{Workers: 2},
		Queue: queue.Options[key]{OnError: func(key, error) {}},
	})
	controller.For(p.control, p.inf)
	get := func(_ context.Context, k key) (*Secret, error) {
		if k.Name == "panics" {
			panic("no")
		}
		return newSecret(k.Name), nil
	}
	refused := debug.AddInformer(p.page, "secrets", p.inf, get)
	unrecorded := p.page.AddController("sync", p.control)
	if err := errors.Join(err, failed, p.control.Err(), refused, unrecorded); err != nil {
		t.Fatal(err)
	}
	p.run = p.control.Run
	return p
}

func reconcile(ctx context.Context, k key) error {
	switch k.Name {
	case "bad":
		return errors.New("<b>no such thing</b>")
	case "never":
		return controller.Terminal(errors.New("no such plan"))
	case "panics":
		panic("a panic")
	case "slow":
		<-ctx.Done()
	}
	return nil
}

// start runs the program until the test's function returns.
func (p *program) start(names ...string) (stop func()) {
	for _, name := range names {
		if _, err := fake.Create(p.server, newSecret(name)); err != nil {
			p.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- p.run(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			p.t.Error(err)
		}
	}
}

func get(page http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func (p *program) story(key string) (s debug.Story) {
	p.t.Helper()
	w := get(p.page, "/debug/story.json?server=1&key="+url.QueryEscape(key))
	if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil {
		p.t.Fatal(err)
	}
	return s
}
