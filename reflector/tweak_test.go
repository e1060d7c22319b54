package reflector_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/reflector"
)

// Selectors are joined with the request's selectors; nothing else changes.
func TestTweak(t *testing.T) {
	inner := &canned[partial]{pairs: []pair[partial]{event(reflector.Added, "a", "1")}}
	source := reflector.Tweak[partial](inner, func(o *metav1.ListOptions) {
		if diffed := cmp.Diff(metav1.ListOptions{}, *o); diffed != "" {
			t.Errorf("tweak got %s", diffed)
		}
		seconds := int64(5)
		*o = metav1.ListOptions{
			LabelSelector: "app=web", FieldSelector: "spec.nodeName=n", ShardSelector: "s1",
			ResourceVersion: "7", Limit: 3, Continue: "x", TimeoutSeconds: &seconds, AllowWatchBookmarks: true,
		}
	})
	for _, c := range []struct{ asked, want metav1.ListOptions }{
		{metav1.ListOptions{}, metav1.ListOptions{LabelSelector: "app=web", FieldSelector: "spec.nodeName=n", ShardSelector: "s1"}},
		{
			metav1.ListOptions{LabelSelector: "a", FieldSelector: "metadata.name=x", ShardSelector: "s0", ResourceVersion: "9", Limit: 500},
			metav1.ListOptions{LabelSelector: "a,app=web", FieldSelector: "metadata.name=x,spec.nodeName=n", ShardSelector: "s0 && s1", ResourceVersion: "9", Limit: 500},
		},
	} {
		if lines := watched(source, c.asked); len(lines) != 1 {
			t.Errorf("watched %q", lines)
		}
		if diffed := cmp.Diff(c.want, inner.asked); diffed != "" {
			t.Errorf("a watch: %s", diffed)
		}
		inner.asked = metav1.ListOptions{}
		if _, err := source.List(context.Background(), c.asked, func(reflector.Event[partial], error) bool { return true }); err != nil {
			t.Error(err)
		}
		if diffed := cmp.Diff(c.want, inner.asked); diffed != "" {
			t.Errorf("a list: %s", diffed)
		}
	}
	if reflector.Tweak[partial](inner, nil) != reflector.Source[partial](inner) {
		t.Error("a nil function makes another source")
	}
	if reflector.Tweak[partial](nil, func(*metav1.ListOptions) {}) != reflector.Source[partial](nil) {
		t.Error("no source makes one")
	}
}
