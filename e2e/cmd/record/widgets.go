package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/e2e/oracle"
)

const (
	definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	widgetsPath     = "/apis/example.com/v1/namespaces/" + namespace + "/widgets"
)

// widgets defines a custom resource and records it. The server never sends custom resources as
// protobuf.
func (s *session) widgets(ctx context.Context) error {
	object := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	definition := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{
			"group": "example.com",
			"scope": "Namespaced",
			"names": map[string]any{"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "properties": map[string]any{"spec": object, "status": object},
				}},
			}},
		},
	}
	if err := s.api.Do(ctx, http.MethodPost, definitionsPath, definition, nil); err != nil {
		return err
	}
	if err := s.untilServed(ctx, widgetsPath); err != nil {
		return err
	}
	_, version, err := oracle.List[metav1.PartialObjectMetadata](ctx, s.api, widgetsPath, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range 3 {
		widget := map[string]any{
			"apiVersion": "example.com/v1",
			"kind":       "Widget",
			"metadata":   map[string]any{"name": fmt.Sprintf("widget-%d", i)},
			"spec": map[string]any{
				"size": i, "weight": 0.5, "big": int64(1) << 53, "tags": []string{"a", "b"}, "nothing": nil,
				"deep": map[string]any{"er": map[string]any{"est": true}},
			},
		}
		if err := s.api.Do(ctx, http.MethodPost, widgetsPath, widget, nil); err != nil {
			return err
		}
	}
	if err := s.advance(ctx, "after-widgets"); err != nil {
		return err
	}
	list := request{name: "list-widgets", about: "LIST of a custom resource", path: widgetsPath}
	watch := watchFrom(version, request{name: "watch-widgets", about: "WATCH of a custom resource: ADDED, BOOKMARK", path: widgetsPath})
	fallback := protobufFormat()
	fallback.accept += ",application/json"
	return s.recordTogether(ctx,
		list, watch,
		request{
			name: "error-406-widgets", about: "LIST of a custom resource as protobuf alone",
			path: widgetsPath, format: protobufFormat(), want: http.StatusNotAcceptable,
		},
		request{
			name: "list-widgets-fallback", about: "LIST of a custom resource as protobuf or else JSON",
			path: widgetsPath, format: fallback,
		},
	)
}

// untilServed waits until the server serves a new resource. There is no event for that.
func (s *session) untilServed(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.api.Do(ctx, http.MethodGet, path, nil, nil)
		if !apierrors.IsNotFound(err) && !apierrors.IsTooManyRequests(err) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s is not served: %w", path, err)
		}
	}
}
