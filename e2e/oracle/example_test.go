package oracle_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/e2e/oracle"
)

func ExampleList() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"metadata":{"resourceVersion":"42"},"items":[{"metadata":{"name":"web"}}]}`)
	}))
	defer server.Close()
	api := &oracle.Client{URL: server.URL, HTTP: server.Client()}
	path := oracle.Path("pods", "default", "")
	pods, version, err := oracle.List[corev1.Pod](context.Background(), api, path, metav1.ListOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(pods), pods[0].Name, version)
	// Output: 1 web 42
}

func ExampleEach() {
	squares := make([]int, 4)
	err := oracle.Each(context.Background(), len(squares), 2, func(_ context.Context, i int) error {
		squares[i] = i * i
		return nil
	})
	fmt.Println(squares, err)
	// Output: [0 1 4 9] <nil>
}
