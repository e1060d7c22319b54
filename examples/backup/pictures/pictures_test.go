package pictures

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/debug"
	"github.com/kinform/kinform/examples/backup"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/batch"
	"github.com/kinform/kinform/with/kubernetes/coordination"
	"github.com/kinform/kinform/with/kubernetes/core"
	"github.com/kinform/kinform/with/kubernetes/events"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var pictures = flag.String("pictures", "", "write the pictures of docs/debug-page.md into this folder, by chromium")

// TestPictures takes pictures of the debug page of the operator at work, in real time: most Backups are well, one waits
// for its Secret, and the storage of one that was deleted does not answer.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("without -pictures")
	}
	server := fake.New(fake.Options{CollectGarbage: true})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(errors.Join(
		fake.Register(server, backup.Backups, fake.Rules{}), fake.Register(server, batch.Jobs, fake.Rules{}),
		fake.Register(server, core.ConfigMaps, fake.Rules{}), fake.Register(server, core.Secrets, fake.Rules{}), fake.Register(server, core.Services, fake.Rules{}),
		fake.Register(server, coordination.Leases, fake.Rules{}), fake.Register(server, events.Events, fake.Rules{}),
	))
	cleanup := func(_ context.Context, b *backup.Backup) error {
		return fmt.Errorf("delete backups-eu/%s: 503 Service Unavailable", b.Name)
	}
	conn := client.Connection{URL: fake.URL, HTTP: server.Client()}
	m := backup.New(conn, "ops", cleanup)
	m.AddControllers(looping(conn))
	page := debug.New(debug.Options{Events: 64, Reconciles: 64})
	page.AddManager(m)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	web := httptest.NewServer(slowly(page))
	defer func() {
		page.Close()
		web.Close()
		stop()
		check(<-ended)
	}()

	for _, name := range []string{"login", "orders"} {
		_, err := fake.Create(server, fake.Object(&corev1.Secret{}, "vault", name))
		check(err)
	}
	_, err := fake.Create(server, fake.Object(&corev1.ConfigMap{}, "ops", "storage"))
	check(err)
	_, err = fake.Create(server, fake.Object(&corev1.Service{}, "shop", "web"))
	check(err)
	for _, c := range []struct{ namespace, name, credentials string }{
		{"shop", "orders-db", "orders"}, {"shop", "customers-db", "orders"}, {"shop", "images", "login"},
		{"forum", "posts-db", "login"}, {"forum", "uploads", "forum"}, {"wiki", "pages-db", "login"},
	} {
		_, err := fake.Create(server, fake.Object(&backup.Backup{Spec: backup.BackupSpec{
			Image: "registry.example.com/dump:1.4", Every: metav1.Duration{Duration: 6 * time.Hour},
			Settings:    backup.Reference{Namespace: "ops", Name: "storage"},
			Credentials: backup.Reference{Namespace: "vault", Name: c.credentials},
		}}, c.namespace, c.name))
		check(err)
	}
	time.Sleep(20 * time.Second) // it leads after 15
	jobs, err := fake.List[*batchv1.Job](server, fake.Selection{})
	check(err)
	for _, job := range jobs[:3] {
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		_, err := fake.UpdateStatus(server, job)
		check(err)
	}
	deleted := kinform.Key{Namespace: "shop", Name: "customers-db"}
	_, err = fake.Delete[*backup.Backup](server, deleted)
	check(err)
	time.Sleep(4 * time.Second)

	for name, size := range map[string]string{"debug-page-wide.png": "1400,1720", "debug-page-story.png": "420,900"} {
		address := web.URL + "/debug/"
		if name == "debug-page-story.png" {
			address += "#" + url.PathEscape(deleted.String())
		}
		out, err := exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir="+t.TempDir(),
			"--window-size="+size, "--screenshot="+filepath.Join(*pictures, name), address).CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// slowly makes the page load for some seconds, until it has its data: chromium takes the picture then.
func slowly(page http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/wait.js"):
			time.Sleep(6 * time.Second)
		case strings.HasSuffix(r.URL.Path, "/"):
			rec := httptest.NewRecorder()
			page.ServeHTTP(rec, r)
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(w, strings.Replace(rec.Body.String(), "</head>", `<script src="wait.js" async></script></head>`, 1))
		default:
			page.ServeHTTP(w, r)
		}
	})
}

// looping returns a controller that notes in a Service when it has looked at it, and so has to look again: 40 times.
func looping(conn client.Connection) *controller.Controller[kinform.Key] {
	services := kinform.Open(conn, core.Services)
	left := 40
	c := controller.New("checks", func(ctx context.Context, k kinform.Key) error {
		service, found := services.Cached(k)
		if left--; !found || left < 0 {
			return nil
		}
		service = service.DeepCopy()
		service.Annotations = map[string]string{"example.com/checked": time.Now().Format(time.RFC3339Nano)}
		_, err := services.Update(ctx, service, metav1.UpdateOptions{})
		return err
	}, controller.Options[kinform.Key]{OwnEvents: true})
	controller.For(c, services)
	return c
}
