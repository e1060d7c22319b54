package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
)

// whatBecame says what a failed write has done, so that a caller knows whether to repeat it.
func whatBecame(err error) string {
	var large *client.TooLargeError
	switch {
	case errors.Is(err, client.ErrInvalid):
		return "a mistake in the program"
	case errors.Is(err, client.ErrNotSent):
		return "nothing was sent"
	case errors.As(err, &large):
		return fmt.Sprint("larger than ", large.Limit, " bytes")
	case errors.Is(err, client.ErrAccepted):
		return "done, but the answer is of no use"
	case errors.Is(err, client.ErrUnclear):
		return "refused, and an earlier try may have been carried out"
	}
	return "refused, or the connection broke"
}

// Each error of a request says whether the server may have carried it out.
func ExampleResource_Create() {
	srv := server()
	defer srv.Close()
	conn := client.Connection{URL: srv.URL, HTTP: srv.Client()}
	all, err := client.New(conn, kind.OfResource[*Database](databases), client.Options{MaxObjectBytes: 10})
	if err != nil {
		panic(err)
	}
	_, err = all.Create(context.Background(), &Database{}, metav1.CreateOptions{})
	fmt.Println(whatBecame(err))

	var prod *client.Resource[*Database]
	prod, err = client.InNamespace(all, "prod")
	if err != nil {
		panic(err)
	}
	_, err = prod.Get(context.Background(), types.NamespacedName{Name: "orders"}, metav1.GetOptions{})
	fmt.Println(whatBecame(err))
	var stats client.Stats = prod.Stats()
	fmt.Println("objects:", stats.Objects)
	// Output:
	// nothing was sent
	// larger than 10 bytes
	// objects: 0
}

// The type of the objects is known only at run time, as in a tool that gets the name of a kind.
func ExampleNewLike() {
	srv := server()
	defer srv.Close()
	var like runtime.Object = &metav1.PartialObjectMetadata{}
	r, err := client.NewLike(client.Connection{URL: srv.URL, HTTP: srv.Client()}, kind.OfResource[runtime.Object](databases), like, client.Options{Namespace: "prod"})
	if err != nil {
		panic(err)
	}
	var status *client.Subresource[runtime.Object] = r.Subresource("status")
	_ = status // has the same methods
	fmt.Println(r.Resource())
	// Output: databases.example.com in namespace prod
}

// A file that cannot be read now does not take away the credentials in use.
func ExampleCredentialError() {
	opts := client.ConnectionOptions{OnError: func(err error) {
		var bad *client.CredentialError
		if errors.As(err, &bad) {
			fmt.Println(bad.File, "cannot be used:", bad.Err)
		}
	}}
	opts.OnError(&client.CredentialError{File: "/var/run/secrets/token", Err: http.ErrMissingFile})
	// Output: /var/run/secrets/token cannot be used: http: no such file
}
