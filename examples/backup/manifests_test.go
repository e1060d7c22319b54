package backup_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kinform/kinform/examples/backup"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
)

// read returns the objects of a kind in a file of manifests, which must have no unknown fields.
func read[T any](t *testing.T, file, kind string) (all []T) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range strings.Split(string(text), "\n---\n") {
		var is metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &is); err != nil {
			t.Fatal(err)
		}
		if is.Kind != kind {
			continue
		}
		var obj T
		if err := yaml.UnmarshalStrict([]byte(document), &obj); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		all = append(all, obj)
	}
	if len(all) == 0 {
		t.Fatalf("%s has no %s", file, kind)
	}
	return all
}

// one is read for a kind of which there is one.
func one[T any](t *testing.T, file, kind string) T {
	t.Helper()
	all := read[T](t, file, kind)
	if len(all) != 1 {
		t.Errorf("%s has %d of %s", file, len(all), kind)
	}
	return all[0]
}

const manifests, sample = "config/operator.yaml", "config/samples/backup.yaml"

// home is the namespace of the operator.
const home = "backups"

// permission is a right, as "get jobs.batch", in one namespace, or in all if that is empty.
type permission struct{ namespace, on string }

// granted returns what rules permit.
func granted(namespace string, rules []rbacv1.PolicyRule) (all []permission) {
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				name, subresource, _ := strings.Cut(resource, "/")
				for _, verb := range rule.Verbs {
					on := fake.Request{Verb: faults.Verb(verb), Resource: schema.GroupResource{Group: group, Resource: name}, Subresource: subresource}
					all = append(all, permission{namespace, on.String()})
				}
			}
		}
	}
	return all
}

// The roles permit what the operator asks for, even after lost answers and from a server without streaming
// lists, and nothing else.
func TestRoles(t *testing.T) {
	var mu sync.Mutex
	used := map[permission]bool{}
	seen := func(x fake.Exchange) {
		mu.Lock()
		defer mu.Unlock()
		in := permission{on: x.Request.String()}
		if x.Resource.Resource == "leases" { // not in all namespaces
			in.namespace = x.Key.Namespace
		}
		used[in] = true
	}
	for _, old := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, fake.Options{NoWatchList: old, Seen: seen})
			lost, err := faults.Parse(`
				truncate create jobs.batch bytes=1
				truncate patch backups.example.com bytes=1`)
			w.check(err)
			w.check(w.server.Inject(lost...))
			r := w.start()
			uid := w.create(time.Hour).UID
			w.settle()
			w.createSettings()
			w.want("Running")
			refused, err := faults.Parse("refuse create jobs.batch code=403 reason=Forbidden times=3")
			w.check(err)
			w.check(w.server.Inject(refused...))
			patch[*backup.Backup](w, nightly, `{"spec":{"image":"dump:2"}}`)
			time.Sleep(time.Minute) // the event is counted again
			w.want("Running")
			time.Sleep(time.Hour)
			w.want("Running")
			w.wantDeletion(uid)
			w.check(r.stop())
		})
	}
	roles := append(
		granted("", one[rbacv1.ClusterRole](t, manifests, "ClusterRole").Rules),
		granted(home, one[rbacv1.Role](t, manifests, "Role").Rules)...,
	)
	for _, p := range roles {
		if !used[p] && p.on != "update backups.example.com/finalizers" { // which a plugin of the server asks for
			t.Errorf("%v is granted, and not used", p)
		}
	}
	for p := range maps.Keys(used) {
		if !slices.Contains(roles, p) {
			t.Errorf("%v is used, and not granted", p)
		}
	}
}

// The pods of the Deployment have the account that the roles are bound to.
func TestDeployment(t *testing.T) {
	account := one[corev1.ServiceAccount](t, manifests, "ServiceAccount").ObjectMeta
	cluster, local := one[rbacv1.ClusterRoleBinding](t, manifests, "ClusterRoleBinding"), one[rbacv1.RoleBinding](t, manifests, "RoleBinding")
	subject := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: account.Namespace, Name: account.Name}}
	if !slices.Equal(cluster.Subjects, subject) || !slices.Equal(local.Subjects, subject) {
		t.Errorf("bound to %v and %v, want %v", cluster.Subjects, local.Subjects, subject)
	}
	if role := one[rbacv1.ClusterRole](t, manifests, "ClusterRole").Name; cluster.RoleRef.Name != role || cluster.RoleRef.Kind != "ClusterRole" {
		t.Errorf("%v is bound", cluster.RoleRef)
	}
	if role := one[rbacv1.Role](t, manifests, "Role").Name; local.RoleRef.Name != role || local.RoleRef.Kind != "Role" {
		t.Errorf("%v is bound", local.RoleRef)
	}
	d := one[appsv1.Deployment](t, manifests, "Deployment")
	pod := d.Spec.Template
	if pod.Spec.ServiceAccountName != account.Name || d.Spec.Selector.MatchLabels["app"] != pod.Labels["app"] || len(pod.Spec.Containers) != 1 {
		t.Errorf("the template is %v", pod)
	}
	for _, namespace := range []string{one[corev1.Namespace](t, manifests, "Namespace").Name, account.Namespace, local.Namespace, d.Namespace} {
		if namespace != home {
			t.Errorf("namespace %s", namespace)
		}
	}
}

// The definition is the kind's.
func TestDefinition(t *testing.T) {
	type definition struct {
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Group, Scope string
			Names        struct{ Plural, Kind string }
			Versions     []struct {
				Name         string
				Subresources map[string]struct{}
			}
		}
	}
	text, err := os.ReadFile("config/crd/example.com_backups.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd definition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	k := backup.Backups
	if crd.Name != k.GroupResource().String() || crd.Spec.Group != k.Group || crd.Spec.Names.Plural != k.Resource || crd.Spec.Scope != "Namespaced" {
		t.Errorf("the definition is %+v", crd)
	}
	if v := crd.Spec.Versions; len(v) != 1 || v[0].Name != k.Version || len(v[0].Subresources) != 1 {
		t.Errorf("the versions are %+v", v)
	} else if _, ok := v[0].Subresources["status"]; !ok {
		t.Errorf("the subresources are %v", v[0].Subresources)
	}
}

// The sample has all that its Backup needs.
func TestSample(t *testing.T) {
	b := one[backup.Backup](t, sample, "Backup")
	settings, login := one[corev1.ConfigMap](t, sample, "ConfigMap"), one[corev1.Secret](t, sample, "Secret")
	if key := (backup.Reference{Namespace: settings.Namespace, Name: settings.Name}); b.Spec.Settings != key {
		t.Errorf("it refers to %v, and there is %v", b.Spec.Settings, key)
	}
	if key := (backup.Reference{Namespace: login.Namespace, Name: login.Name}); b.Spec.Credentials != key {
		t.Errorf("it refers to %v, and there is %v", b.Spec.Credentials, key)
	}
	var namespaces []string
	for _, n := range read[corev1.Namespace](t, sample, "Namespace") {
		namespaces = append(namespaces, n.Name)
	}
	if want := []string{settings.Namespace, login.Namespace}; !slices.Equal(namespaces, want) {
		t.Errorf("namespaces %q, want %q", namespaces, want)
	}
	if b.Spec.Image == "" || b.Spec.Every.Duration < time.Minute {
		t.Error(fmt.Sprint(b.Spec))
	}
}
