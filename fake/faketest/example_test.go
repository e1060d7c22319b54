package faketest_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake/faketest"
)

// Histories checks the events of a handler; an informer's handler would call it.
func ExampleHistories() {
	var seen faketest.Histories[string, *metav1.PartialObjectMetadata]
	first, second := &metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadata{}
	seen.Added("prod/orders", first)
	seen.Updated("prod/orders", first, second)
	seen.Deleted("prod/orders", second)
	fmt.Println(seen.Err())
	seen.Deleted("prod/orders", second)
	fmt.Println(seen.Err())
	// Output:
	// <nil>
	// event 4, key prod/orders: deleted while absent
}
