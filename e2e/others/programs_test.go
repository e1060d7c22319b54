package others

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/internal/longtest"
)

var (
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	events      = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	crds        = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	foos        = schema.GroupVersionResource{Group: "samplecontroller.k8s.io", Version: "v1alpha1", Resource: "foos"}
	websites    = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "websites"}
)

// TestPrograms runs each program twice on a real server, as it is and with the change, does the
// same to its objects, and compares what is on the server in the end.
func TestPrograms(t *testing.T) {
	if !longtest.On() {
		t.Skip("it compiles four programs for some minutes: set KINFORM_LONG=1")
	}
	c := cluster.Start(t, cluster.Options{})
	scripts := map[string]struct {
		owners schema.GroupVersionResource
		kind   string
		script func(*stage)
	}{
		"sample-controller": {foos, "Foo", playFoos},
		"website":           {websites, "Website", playWebsites},
	}
	for _, p := range Programs() {
		t.Run(p.Name, func(t *testing.T) {
			before, after, err := p.Build(t.Context(), t.TempDir())
			check(t, err)
			for binary, want := range map[string]bool{before: false, after: true} {
				text, err := os.ReadFile(binary)
				check(t, err)
				if has := bytes.Contains(text, []byte("github.com/kinform/kinform/reflector.")); has != want {
					t.Errorf("%s has Kinform: %v", filepath.Base(binary), has)
				}
			}
			s := newStage(t, c)
			s.owners = scripts[p.Name].owners
			s.createCRD(scripts[p.Name].kind)
			var states []string
			for _, binary := range []string{before, after} {
				stop := s.start(c, binary)
				s.namespace = p.Name + "-" + filepath.Base(binary)
				s.create(namespaces, "", s.namespace, nil)
				scripts[p.Name].script(s)
				states = append(states, s.state())
				stop()
			}
			if diff := cmp.Diff(states[0], states[1]); diff != "" {
				t.Errorf("the states of the two programs (-before +after):\n%s", diff)
			}
			if len(states[0]) < 1000 {
				t.Errorf("the state is short: %s", states[0])
			}
		})
	}
}

func playFoos(s *stage) {
	foo := func(name, deployment string, replicas int) {
		s.create(s.owners, s.namespace, name, map[string]any{"spec": map[string]any{"deploymentName": deployment, "replicas": int64(replicas)}})
	}
	foo("one", "one", 1)
	s.await(deployments, "one", "spec.replicas is 1", has(int64(1), "spec", "replicas"))
	s.patch(s.owners, "one", `{"spec":{"replicas":3}}`)
	s.await(deployments, "one", "spec.replicas follows", has(int64(3), "spec", "replicas"))
	s.patch(deployments, "one", `{"spec":{"replicas":5}}`)
	s.await(deployments, "one", "somebody's change is undone", has(int64(3), "spec", "replicas"))
	uid := s.get(deployments, "one").GetUID()
	s.delete(deployments, "one")
	s.await(deployments, "one", "it is made again", func(d *unstructured.Unstructured) bool { return d.GetUID() != uid })
	s.patch(deployments, "one", `{"status":{"replicas":3,"readyReplicas":2,"availableReplicas":2}}`, "status")
	s.await(s.owners, "one", "the status has the available replicas", has(int64(2), "status", "availableReplicas"))
	s.create(deployments, s.namespace, "taken", deployment())
	foo("two", "taken", 2)
	s.awaitEvent("two", "ErrResourceExists")
	s.awaitEvent("one", "Synced")
	foo("gone", "gone", 1)
	s.await(deployments, "gone", "is made", exists)
	s.awaitEvent("gone", "Synced")
	s.delete(s.owners, "gone")
}

func playWebsites(s *stage) {
	site := func(name string) {
		s.create(s.owners, s.namespace, name, map[string]any{"spec": map[string]any{"host": name + ".example.com", "image": "v1", "replicas": int64(1)}})
	}
	reason := func(want string) func(*unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool {
			conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
			return len(conditions) == 1 && conditions[0].(map[string]any)["reason"] == want
		}
	}
	s.create(deployments, s.namespace, "taken", deployment())
	site("one")
	site("taken")
	site("gone")
	s.await(s.owners, "taken", "its name is taken", reason("NameTaken"))
	s.await(s.owners, "one", "it is starting", reason("Starting"))
	s.patch(s.owners, "one", `{"spec":{"replicas":2,"image":"v2"}}`)
	s.await(deployments, "one", "spec.replicas follows", has(int64(2), "spec", "replicas"))
	s.patch(deployments, "one", `{"spec":{"replicas":5}}`)
	s.await(deployments, "one", "somebody's change is undone", has(int64(2), "spec", "replicas"))
	d := s.get(deployments, "one")
	s.patch(deployments, "one", fmt.Sprintf(`{"status":{"observedGeneration":%d,"replicas":2,"readyReplicas":2,"availableReplicas":2}}`, d.GetGeneration()), "status")
	s.await(s.owners, "one", "it is available", reason("Available"))
	s.await(deployments, "gone", "is made", exists)
	s.delete(s.owners, "gone")
	s.await(s.owners, "gone", "its finalizer is gone", nil)
}

// stage is a namespace of a server, and what happens there.
type stage struct {
	*testing.T
	clients   dynamic.Interface
	owners    schema.GroupVersionResource
	namespace string
}

func newStage(t *testing.T, c *cluster.Cluster) *stage {
	clients, err := dynamic.NewForConfig(&rest.Config{Host: c.URL(), BearerToken: c.Token(), TLSClientConfig: rest.TLSClientConfig{CAFile: c.CAFile()}, QPS: -1})
	check(t, err)
	return &stage{T: t, clients: clients}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start runs a program until stop is called.
func (s *stage) start(c *cluster.Cluster, binary string) (stop func()) {
	s.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: c.URL(), CertificateAuthority: c.CAFile()}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: c.Token()}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	file := filepath.Join(s.TempDir(), "kubeconfig")
	check(s.T, clientcmd.WriteToFile(*config, file))
	cmd := exec.CommandContext(s.Context(), binary, "-kubeconfig", file) // killed if the script fails
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	check(s.T, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return func() {
		s.Helper()
		check(s.T, cmd.Process.Signal(os.Interrupt))
		if err := <-ended; err != nil || s.Failed() {
			s.Errorf("%s ended with %v:\n%s", binary, err, tail(out.String()))
		}
	}
}

// createCRD creates the definition of the owners' kind.
func (s *stage) createCRD(kind string) {
	s.Helper()
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	s.create(crds, "", s.owners.Resource+"."+s.owners.Group, map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{"api-approved.kubernetes.io": "unapproved"}},
		"spec": map[string]any{
			"group": s.owners.Group, "scope": "Namespaced",
			"names": map[string]any{"kind": kind, "plural": s.owners.Resource},
			"versions": []any{map[string]any{
				"name": s.owners.Version, "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": open, "status": open}}},
			}},
		},
	})
	s.poll("the definition of "+kind+" works", func(ctx context.Context) (bool, error) {
		_, err := s.clients.Resource(s.owners).List(ctx, metav1.ListOptions{})
		return err == nil, err
	})
}

var kinds = map[string]string{"namespaces": "Namespace", "deployments": "Deployment", "customresourcedefinitions": "CustomResourceDefinition", "foos": "Foo", "websites": "Website"}

func (s *stage) create(of schema.GroupVersionResource, namespace, name string, content map[string]any) {
	s.Helper()
	obj := &unstructured.Unstructured{Object: content}
	if content == nil {
		obj.Object = map[string]any{}
	}
	obj.SetAPIVersion(of.GroupVersion().String())
	obj.SetKind(kinds[of.Resource])
	obj.SetName(name)
	_, err := s.clients.Resource(of).Namespace(namespace).Create(s.Context(), obj, metav1.CreateOptions{})
	check(s.T, err)
}

// deployment is a Deployment of somebody else.
func deployment() map[string]any {
	labels := map[string]any{"app": "somebody"}
	return map[string]any{"spec": map[string]any{
		"selector": map[string]any{"matchLabels": labels},
		"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}},
	}}
}

func (s *stage) patch(of schema.GroupVersionResource, name, patch string, subresources ...string) {
	s.Helper()
	_, err := s.clients.Resource(of).Namespace(s.namespace).Patch(s.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	check(s.T, err)
}

func (s *stage) delete(of schema.GroupVersionResource, name string) {
	s.Helper()
	check(s.T, s.clients.Resource(of).Namespace(s.namespace).Delete(s.Context(), name, metav1.DeleteOptions{}))
}

func (s *stage) get(of schema.GroupVersionResource, name string) *unstructured.Unstructured {
	s.Helper()
	obj, err := s.clients.Resource(of).Namespace(s.namespace).Get(s.Context(), name, metav1.GetOptions{})
	check(s.T, err)
	return obj
}

// await waits for a state of an object; a nil state is that it is gone.
func (s *stage) await(of schema.GroupVersionResource, name, what string, state func(*unstructured.Unstructured) bool) {
	s.Helper()
	s.poll(of.Resource+" "+name+": "+what, func(ctx context.Context) (bool, error) {
		obj, err := s.clients.Resource(of).Namespace(s.namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return state == nil, err
		}
		return err == nil && state != nil && state(obj), err
	})
}

// awaitEvent waits for an event about an owner.
func (s *stage) awaitEvent(name, reason string) {
	s.Helper()
	s.poll("the event "+reason+" of "+name, func(ctx context.Context) (bool, error) {
		list, err := s.clients.Resource(events).Namespace(s.namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + name + ",reason=" + reason})
		return err == nil && len(list.Items) > 0, err
	})
}

// poll asks ten times a second, for a minute.
func (s *stage) poll(what string, done func(context.Context) (bool, error)) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	for {
		ok, err := done(ctx)
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			s.Errorf("in vain: %s, %v", what, err)
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func exists(*unstructured.Unstructured) bool { return true }

func has(want any, path ...string) func(*unstructured.Unstructured) bool {
	return func(o *unstructured.Unstructured) bool {
		got, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
		return got == want
	}
}

// state is all that the server has in the namespace, without what differs from run to run.
func (s *stage) state() string {
	s.Helper()
	var all []string
	for _, of := range []schema.GroupVersionResource{s.owners, deployments, events} {
		list, err := s.clients.Resource(of).Namespace(s.namespace).List(s.Context(), metav1.ListOptions{})
		check(s.T, err)
		for i := range list.Items {
			all = append(all, textOf(&list.Items[i]))
		}
	}
	slices.Sort(all)
	return strings.ReplaceAll(strings.Join(slices.Compact(all), "\n"), s.namespace, "NAMESPACE")
}

// textOf is an object as text. Of an event it has what it says; how often and when depends on
// resyncs.
func textOf(o *unstructured.Unstructured) string {
	if o.GetKind() == "Event" {
		about, _, _ := unstructured.NestedString(o.Object, "involvedObject", "name")
		return fmt.Sprintf("event of %s: %v %v %v", about, o.Object["type"], o.Object["reason"], o.Object["message"])
	}
	drop(o.Object)
	text, err := json.MarshalIndent(o.Object, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// drop removes from a value what differs from run to run.
func drop(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "lastTransitionTime", "generation", "observedGeneration"} {
			delete(v, key)
		}
		for _, part := range v {
			drop(part)
		}
	case []any:
		for _, part := range v {
			drop(part)
		}
	}
}
