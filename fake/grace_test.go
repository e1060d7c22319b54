package fake_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
)

// nodePod has the members of a pod that its deletion looks at.
type nodePod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		NodeName string `json:"nodeName,omitempty"`
	} `json:"spec"`
}

// TestKubelets: a request leaves a pod of a node terminating, and somebody plays the kubelet.
func TestKubelets(t *testing.T) {
	for _, stop := range []bool{false, true} {
		s := fake.New(fake.Options{StopPods: stop})
		check(t, fake.Register[*nodePod](s, fake.Resource{Kind: "Pod"}))
		c := must(fake.NewClient[*nodePod](s, fake.Selection{Namespace: "a"}))(t)
		p := &nodePod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}}
		p.Spec.NodeName = "n"
		must(fake.Create(s, p))(t)
		k := types.NamespacedName{Namespace: "a", Name: "p"}
		check(t, c.Delete(t.Context(), k, metav1.DeleteOptions{}))
		got, err := fake.Get[*nodePod](s, k)
		if stop {
			wantStatus(t, err, 404, metav1.StatusReasonNotFound)
			continue
		}
		check(t, err)
		if got.DeletionTimestamp == nil || *got.DeletionGracePeriodSeconds != 30 {
			t.Errorf("terminating since %v, %v", got.DeletionTimestamp, got.DeletionGracePeriodSeconds)
		}
		must(fake.Delete[*nodePod](s, k))(t)
		wantStatus(t, second(fake.Get[*nodePod](s, k)), 404, metav1.StatusReasonNotFound)
	}
}
