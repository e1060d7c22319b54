package faketest_test

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/reflector"
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

// Expect waits for events of a handler. The order of two keys does not matter.
func ExampleRecorder() {
	type event = faketest.Recorded[string, *metav1.PartialObjectMetadata]
	type expectation = faketest.Expectation[string, *metav1.PartialObjectMetadata]
	var seen faketest.Recorder[string, *metav1.PartialObjectMetadata]
	web := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}}
	db := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "db"}}}
	go func() { // an informer's handler calls these methods
		seen.Added("prod/orders", web)
		seen.Added("prod/stock", db)
		seen.Updated("prod/orders", web, db)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fmt.Println(seen.Expect(ctx,
		expectation{Type: reflector.Added, Key: "prod/stock"},
		expectation{Type: reflector.Added, Key: "prod/orders"},
		expectation{Type: reflector.Modified, Key: "prod/orders", Check: func(ev event) error {
			if app := ev.Object.Labels["app"]; app != "db" {
				return fmt.Errorf("app is %s", app)
			}
			return nil
		}},
	))
	seen.Deleted("prod/stock", db)
	fmt.Println(seen.Expect(ctx, expectation{Type: reflector.Modified, Key: "prod/stock"}))
	// Output:
	// <nil>
	// event 1: DELETED prod/stock, want MODIFIED
}
