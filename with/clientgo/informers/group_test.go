package informers_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kinform/kinform/with/clientgo"
)

// Generated groups ask the Factory of package clientgo. The test is here since this package is
// compiled with client-go's whole package informers anyway.
func TestFactory(t *testing.T) {
	one := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "one"}, Data: map[string]string{"v": "1"}}
	clients := fake.NewClientset(one)
	stock := clientgoinformers.NewSharedInformerFactory(clients, 0)
	maps := core.New(clientgo.Factory(stock), "n", nil).V1().ConfigMaps()
	inf := maps.Informer()
	if clientgo.InsteadOf(inf) != inf || stock.Core().V1().ConfigMaps().Informer().GetStore() != inf.GetStore() {
		t.Error("the informer is not Kinform's, or not the factory's")
	}
	ctx, cancel := context.WithCancel(t.Context())
	stock.StartWithContext(ctx)
	check(t, stock.WaitForCacheSyncWithContext(ctx).AsError())
	if obj, err := maps.Lister().ConfigMaps("n").Get("one"); err != nil || obj.Data["v"] != "1" {
		t.Errorf("the lister has %v, %v", obj, err)
	}
	cancel()
	stock.Shutdown()
}
