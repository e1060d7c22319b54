package fake_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
)

// TestEqualOwnersAreOne: an owner reference that is there twice is stored once, and the client is
// warned. References of one owner that differ stay.
func TestEqualOwnersAreOne(t *testing.T) {
	s := newServer(t, fake.Options{})
	c := podClient(t, s)
	yes := true
	ref := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "x", UID: "u", Controller: &yes}
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "y", UID: "u"}
	twice := newPod("a", "one")
	twice.OwnerReferences = []metav1.OwnerReference{ref, other, ref}
	for what, write := range map[string]func() (*pod, error){
		"function": func() (*pod, error) { return fake.Create(s, twice) },
		"client": func() (*pod, error) {
			p := newPod("a", "two")
			p.OwnerReferences = twice.OwnerReferences
			return c.Create(t.Context(), p, metav1.CreateOptions{})
		},
		"update": func() (*pod, error) {
			p := must(fake.Create(s, newPod("a", "three")))(t)
			p.OwnerReferences = twice.OwnerReferences
			return c.Update(t.Context(), p, metav1.UpdateOptions{})
		},
		"patch": func() (*pod, error) {
			must(fake.Create(s, newPod("a", "four")))(t)
			const owner = `{"apiVersion":"v1","kind":"Pod","name":"x","uid":"u","controller":true}`
			patch := fmt.Sprintf(`{"metadata":{"ownerReferences":[%s,{"apiVersion":"v1","kind":"Pod","name":"y","uid":"u"},%[1]s]}}`, owner)
			return c.Patch(t.Context(), key("a", "four"), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		},
	} {
		p, err := write()
		if err != nil || len(p.OwnerReferences) != 2 || p.OwnerReferences[1].Name != "y" {
			t.Errorf("%s: %v, %+v", what, err, p)
		}
	}
	if len(twice.OwnerReferences) != 3 {
		t.Error("the caller's object has changed")
	}
	body := `{"kind":"Pod","metadata":{"name":"five","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"u"},{"apiVersion":"v1","kind":"Pod","name":"x","uid":"u"}]}}`
	resp := must(s.Client().Post(fake.URL+"/api/v1/namespaces/a/pods", "application/json", strings.NewReader(body)))(t)
	_ = resp.Body.Close()
	if warned := resp.Header.Values("Warning"); resp.StatusCode != http.StatusCreated || len(warned) != 1 || !strings.Contains(warned[0], "duplicate UID(s) observed: u") {
		t.Errorf("%d %q", resp.StatusCode, warned)
	}
}

// TestOwnersOfAnotherForm: owner references that are none are refused, also beside equal ones, and also if admission
// makes them.
func TestOwnersOfAnotherForm(t *testing.T) {
	const path, head = "/apis/example.com/v1/namespaces/a/tools", `{"apiVersion":"example.com/v1","kind":"Tool","metadata":{"name":"x"`
	const owner = `{"apiVersion":"v1","kind":"Pod","name":"x","uid":"u"`
	odd := false
	s := fake.New(fake.Options{Mutate: func(_ context.Context, a *fake.Admission) error {
		if odd {
			return unstructured.SetNestedField(a.Object.(*unstructured.Unstructured).Object, int64(5), "metadata", "ownerReferences")
		}
		return nil
	}})
	check(t, fake.Register(s, kindOf("example.com", "Tool"), fake.Rules{}))
	for _, c := range []struct {
		odd                       bool
		method, path, contentType string
		body                      string
		code                      int
	}{
		{false, "POST", path, "application/json", head + `,"ownerReferences":[` + owner + `},` + owner + `,"controller":{}}]}}`, 400},
		{false, "POST", path, "application/json", head + `}}`, 201},
		{false, "PUT", path + "/x", "application/json", head + `,"ownerReferences":[` + owner + `},` + owner + `,"controller":{}}]}}`, 400},
		{true, "PATCH", path + "/x?fieldManager=one", "application/apply-patch+yaml", head + `,"labels":{"a":"b"}}}`, 422},
	} {
		odd = c.odd
		if code, body := request(t, s, c.method, c.path, c.contentType, c.body); code != c.code {
			t.Errorf("%s %s: %d %s, want %d", c.method, c.body, code, body, c.code)
		}
	}
}
