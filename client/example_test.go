package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// Database is a custom resource's type, written by hand.
type Database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Replicas int `json:"replicas"`
	} `json:"spec"`
}

// server stands for an API server in the examples.
func server() *httptest.Server {
	const (
		header = `"kind":"Database","apiVersion":"example.com/v1",`
		orders = `"metadata":{"name":"orders","namespace":"prod","resourceVersion":"41"},"spec":{"replicas":3}}`
		broken = `"metadata":{"name":"broken","namespace":"prod","resourceVersion":"40"},"spec":{"replicas":"three"}}`
		gone   = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old resource version"}`
	)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /apis/example.com/v1/namespaces/prod/databases", func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Query().Get("watch") == "true" {
			fmt.Fprintf(w, `{"type":"MODIFIED","object":{%s%s}`, header, orders)
			fmt.Fprintf(w, `{"type":"ERROR","object":%s}`, gone)
			return
		}
		fmt.Fprintf(w, `{"kind":"DatabaseList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"42"},"items":[{%s,{%s]}`, broken, orders)
	})
	mux.HandleFunc("GET /apis/example.com/v1/namespaces/prod/databases/orders", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{%s%s`, header, orders)
	})
	return httptest.NewServer(mux)
}

var databases = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "databases"}

func Example() {
	srv := server()
	defer srv.Close()

	conn := client.Connection{URL: srv.URL, HTTP: srv.Client()}
	r, err := client.New(conn, kind.OfResource[*Database](databases), client.Options{Namespace: "prod"})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()

	db, err := r.Get(ctx, types.NamespacedName{Name: "orders"}, metav1.GetOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(db.Kind, db.Name, db.Spec.Replicas)

	_, err = r.Get(ctx, types.NamespacedName{Name: "missing"}, metav1.GetOptions{})
	fmt.Println("not found:", apierrors.IsNotFound(err))
	// Output:
	// Database orders 3
	// not found: true
}

// A list yields its objects while it is being read. One that cannot be used is reported,
// and the others still come.
func ExampleResource_List() {
	srv := server()
	defer srv.Close()
	r, err := client.New(client.Connection{URL: srv.URL, HTTP: srv.Client()}, kind.OfResource[*Database](databases), client.Options{Namespace: "prod"})
	if err != nil {
		panic(err)
	}
	meta, err := r.List(context.Background(), metav1.ListOptions{}, func(ev reflector.Event[*Database], err error) bool {
		var bad *reflector.ObjectError
		if errors.As(err, &bad) {
			fmt.Println("skipped", bad.Key)
			return true
		}
		fmt.Println(ev.Type, ev.Object.Name, "at", ev.ResourceVersion)
		return true
	})
	fmt.Println("watch from", meta.ResourceVersion, err)
	// Output:
	// skipped prod/broken
	// ADDED orders at 41
	// watch from 42 <nil>
}

func ExampleResource_Watch() {
	srv := server()
	defer srv.Close()
	r, err := client.New(client.Connection{URL: srv.URL, HTTP: srv.Client()}, kind.OfResource[*Database](databases), client.Options{Namespace: "prod"})
	if err != nil {
		panic(err)
	}
	for ev, err := range r.Watch(context.Background(), metav1.ListOptions{ResourceVersion: "40"}) {
		if err != nil {
			fmt.Println("list again:", apierrors.IsResourceExpired(err))
			continue
		}
		fmt.Println(ev.Type, ev.Object.Name)
	}
	// Output:
	// MODIFIED orders
	// list again: true
}

func ExampleResource_Items() {
	srv := server()
	defer srv.Close()
	r, err := client.New(client.Connection{URL: srv.URL, HTTP: srv.Client()}, kind.OfResource[*Database](databases), client.Options{Namespace: "prod"})
	if err != nil {
		panic(err)
	}
	for db, err := range r.Items(context.Background(), metav1.ListOptions{Limit: 500}) {
		if err != nil {
			fmt.Println("error")
			continue
		}
		fmt.Println(db.Name)
	}
	// Output:
	// error
	// orders
}

// Credentials come from files that may change at any time.
func ExampleNewConnection() {
	_, err := client.NewConnection("https://10.0.0.1:6443", client.ConnectionOptions{
		CAFile:    "/etc/controller/ca.crt",
		TokenFile: "/etc/controller/token",
	})
	fmt.Println("no such file:", errors.Is(err, fs.ErrNotExist))

	conn, err := client.NewConnection("http://127.0.0.1:8001", client.ConnectionOptions{}) // kubectl proxy
	fmt.Println(conn.URL, err)
	// Output:
	// no such file: true
	// http://127.0.0.1:8001 <nil>
}

// A program that runs in a pod, or else on the desk of its author.
func ExampleInCluster() {
	conn, err := client.InCluster(client.ConnectionOptions{})
	if errors.Is(err, client.ErrNotInCluster) {
		conn, err = client.NewConnection("http://127.0.0.1:8001", client.ConnectionOptions{})
	}
	if err != nil {
		panic(err)
	}
	conn.Limiter = rate.NewLimiter(50, 100) // of all clients that are made of conn together
	r, err := client.New(conn, kind.OfResource[*Database](databases), client.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Resource())
}

// Apply claims fields, and leaves the fields of others alone.
func ExampleResource_Apply() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		fmt.Println(req.Method, req.URL, string(body))
		fmt.Fprint(w, `{"kind":"Database","apiVersion":"example.com/v1","metadata":{"name":"orders"},"spec":{"replicas":5}}`)
	}))
	defer srv.Close()
	r, err := client.New(client.Connection{URL: srv.URL, HTTP: srv.Client()}, kind.OfResource[*Database](databases).Named("Database"), client.Options{Namespace: "prod"})
	if err != nil {
		panic(err)
	}
	db, err := r.Apply(context.Background(), map[string]any{
		"metadata": map[string]any{"name": "orders"},
		"spec":     map[string]any{"replicas": 5},
	}, metav1.ApplyOptions{FieldManager: "scaler", Force: true})
	fmt.Println(db.Spec.Replicas, err)
	// Output:
	// PATCH /apis/example.com/v1/namespaces/prod/databases/orders?fieldManager=scaler&force=true {"metadata":{"name":"orders"},"spec":{"replicas":5},"kind":"Database","apiVersion":"example.com/v1"}
	// 5 <nil>
}

func ExampleResource_Subresource() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		fmt.Println(req.Method, req.URL)
		fmt.Fprint(w, `{"kind":"Database","apiVersion":"example.com/v1","metadata":{"name":"orders"}}`)
	}))
	defer srv.Close()
	r, err := client.New(client.Connection{URL: srv.URL, HTTP: srv.Client()}, kind.OfResource[*Database](databases), client.Options{Namespace: "prod"})
	if err != nil {
		panic(err)
	}
	key := types.NamespacedName{Name: "orders"}
	_, err = r.Subresource("status").Patch(context.Background(), key, types.MergePatchType, []byte(`{"status":{"ready":true}}`), metav1.PatchOptions{})
	fmt.Println(err)
	// Output:
	// PATCH /apis/example.com/v1/namespaces/prod/databases/orders/status
	// <nil>
}
