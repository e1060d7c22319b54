//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/examples/backup"
)

// TestBackup installs the manifests of examples/backup in a cluster that checks who may own objects, and runs the
// operator as their service account. It may do all that it asks for.
func TestBackup(t *testing.T) {
	c := cluster.Start(t, cluster.Options{ExtraAPIServerArgs: []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"}})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	api := &oracle.Client{URL: c.URL(), HTTP: c.HTTPClient()}
	config := filepath.Join("..", "examples", "backup", "config")
	apply(ctx, t, api, filepath.Join(config, "crd", "example.com_backups.yaml"))
	must(t, api.Answers(ctx, "/apis/example.com/v1/backups", http.StatusOK))
	apply(ctx, t, api, filepath.Join(config, "operator.yaml"))
	apply(ctx, t, api, filepath.Join(config, "samples", "backup.yaml"))
	token, err := oracle.Token(ctx, api, "backups", "backup-operator")
	must(t, err)

	conn, err := client.NewConnection(c.URL(), client.ConnectionOptions{CAFile: c.CAFile(), Token: token})
	must(t, err)
	defer conn.HTTP.CloseIdleConnections()
	conn.HTTP = &http.Client{Transport: permitted{t, conn.HTTP.Transport}}
	cleanup := func(context.Context, *backup.Backup) error { return nil }
	operator := &oracle.Client{URL: c.URL(), HTTP: c.HTTPClientAs(token)} // the server takes a moment to apply roles
	must(t, operator.Answers(ctx, "/apis/example.com/v1/backups", http.StatusOK))
	must(t, operator.Answers(ctx, "/apis/coordination.k8s.io/v1/namespaces/backups/leases/none", http.StatusNotFound))
	work(ctx, t, func(ctx context.Context) error { return backup.New(conn, "backups", cleanup).Run(ctx) })

	const path = "/apis/example.com/v1/namespaces/default/backups/nightly"
	begun := func(image string) string {
		var name string
		must(t, oracle.Until(ctx, func() error {
			b, err := oracle.Get[backup.Backup](ctx, api, path)
			if err != nil {
				return err
			}
			if b.Status.Job == "" {
				return fmt.Errorf("no job: %v", b.Status.Conditions)
			}
			job, err := oracle.Get[batchv1.Job](ctx, api, "/apis/batch/v1/namespaces/default/jobs/"+b.Status.Job)
			if err != nil {
				return err
			}
			if got := job.Spec.Template.Spec.Containers[0].Image; got != image || !metav1.IsControlledBy(job, b) {
				return fmt.Errorf("job %s runs %s", job.Name, got)
			}
			name = job.Name
			return nil
		}))
		return name
	}
	first := begun("busybox:1.37")
	_, err = oracle.Patch[backup.Backup](ctx, api, path, map[string]any{"spec": map[string]any{"image": "busybox:1.36"}})
	must(t, err)
	begun("busybox:1.36")
	must(t, api.Answers(ctx, "/apis/batch/v1/namespaces/default/jobs/"+first, http.StatusNotFound))
	must(t, oracle.Until(ctx, func() error { return started(ctx, api) }))
	must(t, api.Delete(ctx, path))
	must(t, api.Answers(ctx, path, http.StatusNotFound))
}

// started returns an error unless an event tells people that the Backup has started a Job.
func started(ctx context.Context, api *oracle.Client) error {
	all, _, err := oracle.List[eventsv1.Event](ctx, api, "/apis/events.k8s.io/v1/namespaces/default/events", metav1.ListOptions{})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(e eventsv1.Event) bool { return e.Reason == "Started" && e.Regarding.Name == "nightly" }) {
		return fmt.Errorf("no event Started: %v", all)
	}
	return nil
}

// apply creates the objects of a file of manifests.
func apply(ctx context.Context, t *testing.T, api *oracle.Client, file string) {
	t.Helper()
	resources := map[string]string{
		"CustomResourceDefinition": "customresourcedefinitions", "Namespace": "namespaces", "ServiceAccount": "serviceaccounts",
		"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings", "Role": "roles", "RoleBinding": "rolebindings",
		"Deployment": "deployments", "ConfigMap": "configmaps", "Secret": "secrets", "Backup": "backups",
	}
	text, err := os.ReadFile(file)
	must(t, err)
	for _, document := range strings.Split(string(text), "\n---\n") {
		var is metav1.PartialObjectMetadata
		must(t, yaml.Unmarshal([]byte(document), &is))
		var obj map[string]any
		must(t, yaml.Unmarshal([]byte(document), &obj))
		path := "/apis/" + is.APIVersion + "/"
		if is.APIVersion == "v1" {
			path = "/api/v1/"
		}
		if is.Namespace != "" {
			path += "namespaces/" + is.Namespace + "/"
		}
		must(t, api.Do(ctx, http.MethodPost, path+resources[is.Kind]+"?fieldValidation=Strict", obj, nil))
	}
}

// permitted fails the test if the server refuses a request because of a missing permission.
type permitted struct {
	t *testing.T
	http.RoundTripper
}

func (p permitted) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := p.RoundTripper.RoundTrip(r)
	if err == nil && (answer.StatusCode == http.StatusForbidden || answer.StatusCode == http.StatusUnauthorized) {
		p.t.Errorf("%s %s: %s", r.Method, r.URL, answer.Status)
	}
	return answer, err
}
