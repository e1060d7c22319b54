package metadata_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/internal/stage"
	"github.com/kinform/kinform/examples/metadata"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/core"
)

func TestMain(m *testing.M) {
	slog.SetLogLoggerLevel(slog.LevelError + 1) // failed reconciles are wanted here
	goleak.VerifyTestMain(m)
}

// onlyMetadata fails the test if a request asks for more than metadata.
type onlyMetadata struct {
	t *testing.T
	http.RoundTripper
}

func (o onlyMetadata) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(r.Header.Get("Accept"), "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata") &&
		!strings.HasPrefix(r.Header.Get("Accept"), "application/json;as=PartialObjectMetadata") {
		o.t.Errorf("%s %s asks for %q", r.Method, r.URL, r.Header.Get("Accept"))
	}
	return o.RoundTripper.RoundTrip(r)
}

func newStage(t *testing.T) *stage.Stage {
	return stage.New(t, fake.Options{}, func(ctx context.Context, server client.Connection) error {
		server.HTTP = &http.Client{Transport: onlyMetadata{t, server.HTTP.Transport}}
		return metadata.Run(ctx, server)
	}, stage.Kind(core.Namespaces), stage.Kind(core.Secrets))
}

func newSecret(s *stage.Stage, namespace, name string, labels ...string) {
	secret := fake.Object(&corev1.Secret{Data: map[string][]byte{"a": []byte("b")}}, namespace, name, fake.Labels(labels...))
	stage.Create(s, secret)
}

func want(t *testing.T, s *stage.Stage, namespace, name, team string) {
	t.Helper()
	s.Settle()
	secret := stage.Get[*corev1.Secret](s, kinform.Key{Namespace: namespace, Name: name})
	if got := secret.Labels[metadata.Label]; got != team || string(secret.Data["a"]) != "b" {
		t.Errorf("%s/%s has team %q and data %v, want %q", namespace, name, got, secret.Data, team)
	}
	if _, is := secret.Labels[metadata.Label]; team == "" && is {
		t.Errorf("%s/%s has the label", namespace, name)
	}
}

func TestLabels(t *testing.T) {
	stage.NoWarnings(t)
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		stage.Create(s, fake.Object(&corev1.Namespace{}, "", "prod", fake.Labels(metadata.Label, "red")))
		stage.Create(s, fake.Object(&corev1.Namespace{}, "", "test"))
		newSecret(s, "prod", "a")
		newSecret(s, "prod", "b", metadata.Label, "blue")
		newSecret(s, "test", "c")
		newSecret(s, "test", "d", metadata.Label, "blue", "other", "label")
		want(t, s, "prod", "a", "red")
		want(t, s, "prod", "b", "red")
		want(t, s, "test", "c", "")
		want(t, s, "test", "d", "")
		s.WantWrites("the start", 3)

		stage.Patch[*corev1.Namespace](s, kinform.Key{Name: "test"}, `{"metadata":{"labels":{"example.com/team":"green"}}}`)
		want(t, s, "test", "c", "green")
		want(t, s, "test", "d", "green")
		s.WantWrites("another team", 2)
		stage.Patch[*corev1.Namespace](s, kinform.Key{Name: "prod"}, `{"metadata":{"labels":{"example.com/team":null}}}`)
		want(t, s, "prod", "a", "")
		s.WantWrites("no team", 2)

		for n := range 100 {
			stage.Patch[*corev1.Secret](s, kinform.Key{Namespace: "test", Name: "c"}, fmt.Sprintf(`{"data":{"n":"%04d"},"metadata":{"labels":{"n":"%d"}}}`, n, n))
			stage.Patch[*corev1.Namespace](s, kinform.Key{Name: "test"}, fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, n))
			s.Breathe()
		}
		s.WantWrites("200 unrelated updates", 0)
	})
}

// A Secret that is gone when the label is to be written is no failure. One that is being deleted is left alone.
func TestGone(t *testing.T) {
	stage.NoWarnings(t)
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.Stop()
		stage.Create(s, fake.Object(&corev1.Namespace{}, "", "prod", fake.Labels(metadata.Label, "red")))
		secret := fake.Object(&corev1.Secret{}, "prod", "going")
		secret.Finalizers = []string{"example.com/slow"}
		stage.Create(s, secret)
		stage.Delete[*corev1.Secret](s, kinform.Key{Namespace: "prod", Name: "going"})
		newSecret(s, "prod", "gone")
		s.Before = func() { stage.Delete[*corev1.Secret](s, kinform.Key{Namespace: "prod", Name: "gone"}) }
		s.Start()
		s.Settle()
		s.WantWrites("the end of the Secrets", 1)
	})
}
