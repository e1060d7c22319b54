package fake_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
)

// TestDeleteUnreadable: the option to ignore errors of reads deletes only objects that cannot be
// read, whatever their finalizers.
func TestDeleteUnreadable(t *testing.T) {
	s := fake.New(fake.Options{})
	check(t, fake.Define(s, sharedPod, sharedHost(exampleV1)))
	hosts := clientOf(t, s, hostKind, "a")
	for name, node := range map[string]string{"good": "n", "bad": "nowhere"} {
		p := newPod("a", name)
		p.Spec.Node, p.Finalizers = node, []string{"example.com/x"}
		must(fake.Create(s, p))(t)
	}
	ignore := true
	opts := metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: &ignore}
	err := hosts.Delete(t.Context(), key("a", "good"), opts)
	if st := wantStatus(t, err, 409, metav1.StatusReasonConflict); !strings.Contains(st.Message, "the object is decodable") {
		t.Error(st.Message)
	}
	wantStatus(t, hosts.Delete(t.Context(), key("a", "none"), opts), 404, metav1.StatusReasonNotFound)
	wantStatus(t, hosts.DeleteCollection(t.Context(), opts, metav1.ListOptions{}), 422, metav1.StatusReasonInvalid)
	wantStatus(t, hosts.Delete(t.Context(), key("a", "bad"), metav1.DeleteOptions{}), 500, metav1.StatusReasonInternalError)

	dry := opts
	dry.DryRun = []string{metav1.DryRunAll}
	check(t, hosts.Delete(t.Context(), key("a", "bad"), dry))
	must(fake.Get[*pod](s, key("a", "bad")))(t)
	check(t, hosts.Delete(t.Context(), key("a", "bad"), opts))
	_, err = fake.Get[*pod](s, key("a", "bad"))
	wantStatus(t, err, 404, metav1.StatusReasonNotFound)
	must(fake.Get[*pod](s, key("a", "good")))(t)
}
