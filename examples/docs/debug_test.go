package docs_test

import (
	"context"
	"errors"
	"log"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/debug"
)

func Example_debugPage() {
	page := debug.New(debug.Options{Events: 256, Reconciles: 256})
	ask := func(ctx context.Context, key kinform.Key) (*corev1.Pod, error) {
		return pods.Get(ctx, key, metav1.GetOptions{})
	}
	if err := errors.Join(page.AddController("websites", c), debug.AddInformer(page, "pods", pods, ask)); err != nil {
		log.Fatal(err)
	}
	http.Handle("/debug/kinform/", page)
}
