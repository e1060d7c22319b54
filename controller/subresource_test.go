package controller_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
)

// scale is the body of a subresource, another type than the object's.
type scale struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Replicas int `json:"replicas"`
	} `json:"spec"`
}

// scaling is a transport that answers requests for the scale of gadgets with the body that was
// sent, and changes the object then.
type scaling struct {
	next  http.RoundTripper
	scale func()
}

func (s scaling) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/gadgets/one/scale") {
		return s.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.scale()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
}

// A subresource may have a body of another type. Reads have what it changed in the object.
func TestSubresourceOfAnotherType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newScene(t, controller.OpenOptions[*gadget]{})
		one := newGadget("one", "x")
		create(t, w.server, one)
		var changed *gadget
		w.wire.next = scaling{w.wire.next, func() {
			scaled := newGadget("one", "x")
			scaled.Labels = map[string]string{"scaled": "yes"}
			changed = done(fake.Update(w.server, scaled))
		}}
		defer w.run()()
		scales := done(controller.SubresourceAs[*scale](w.handle, "scale"))
		body := &scale{TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"}}
		body.Namespace, body.Name, body.Spec.Replicas = one.Namespace, one.Name, 3
		now, err := scales.Update(t.Context(), body, metav1.UpdateOptions{})
		if err != nil || now.Spec.Replicas != 3 || now.Kind != "Scale" {
			t.Fatalf("got %+v, %v", now, err)
		}
		w.expect("the scale", "one", changed.ResourceVersion)
		if _, err := scales.Update(t.Context(), nil, metav1.UpdateOptions{}); !errors.Is(err, controller.ErrInvalid) || !strings.Contains(err.Error(), "gadgets: a *controller_test.scale") {
			t.Errorf("nil: %v", err)
		}
	})
	if _, err := controller.SubresourceAs[*scale]((*controller.Handle[*gadget])(nil), "scale"); !errors.Is(err, controller.ErrNoInformer) {
		t.Errorf("a nil handle: %v", err)
	}
}

// A nil object is an error that names the resource or the call, and nothing is sent.
func TestNilObjects(t *testing.T) {
	ctx := t.Context()
	server, _ := sites(t)
	conn := client.Connection{URL: fake.URL, HTTP: server.Client()}
	h := controller.Open(conn, siteKinds, controller.OpenOptions[*site]{Informer: informer.Options[*site]{}})
	before := server.Requests()
	failures := map[string]error{
		"Delete":         controller.Delete(ctx, h, nil, metav1.DeleteOptions{}),
		"SetController":  controller.SetController(newSite("one"), nil, siteKinds),
		"Adopt":          controller.Adopt[*site](nil, newSite("one"), siteKinds),
		"apply of a map": only(h.Apply(ctx, map[string]any(nil), metav1.ApplyOptions{})),
	}
	failures["Create"] = only(h.Create(ctx, nil, metav1.CreateOptions{}))
	failures["Update"] = only(h.Update(ctx, nil, metav1.UpdateOptions{}))
	failures["UpdateStatus"] = only(h.UpdateStatus(ctx, nil, metav1.UpdateOptions{}))
	failures["Apply"] = only(h.Apply(ctx, nil, metav1.ApplyOptions{}))
	failures["PatchStatus"] = only(controller.PatchStatus(ctx, h, nil, func(*site) {}))
	_, _, failures["CreateOrUpdate"] = controller.CreateOrUpdate(ctx, h, nil, func(*site) error { return nil })
	_, _, failures["Finalize"] = controller.Finalize(ctx, h, nil, "example.com/f", func(context.Context, *site) error { return nil })
	for call, err := range failures {
		if !errors.Is(err, controller.ErrInvalid) || !errors.Is(err, client.ErrNotSent) {
			t.Errorf("%s: %v", call, err)
		}
	}
	if got, want := failures["Create"].Error(), "controller: sites.example.com: a *controller_test.site: the object is nil: look at the error of the call that returned it, or at ok of Cached: nothing was sent"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if sent := server.Requests().Since(before); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
}

// only returns the error of a call.
func only[T any](_ T, err error) error { return err }
