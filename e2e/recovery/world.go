//go:build e2e

package recovery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/e2e/beside"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
)

const (
	namespaces = 10
	perKind    = 20
	customs    = 10

	user    = "guest" // of the informers, see cluster.Cluster.GuestToken
	group   = "recovery.example.com"
	crdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
)

// prepare creates the namespaces, the user's right to read, and the objects of the built-in kinds.
// It returns the file with the user's token.
func (r *round) prepare(ctx context.Context, c *cluster.Cluster) (tokenFile string, err error) {
	for i := range namespaces {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: oracle.NamespaceName(i)}}
		if _, err := oracle.Create(ctx, r.server, oracle.Path("namespaces", "", ""), ns); err != nil {
			return "", err
		}
	}
	if err := oracle.GrantReading(ctx, r.server, user); err != nil {
		return "", err
	}
	for _, k := range beside.BuiltIn() {
		if err := r.fill(ctx, k); err != nil {
			return "", err
		}
	}
	tokenFile = filepath.Join(c.Dir(), "guest.token")
	return tokenFile, os.WriteFile(tokenFile, []byte(c.GuestToken()), 0o600)
}

// fill creates the marker of a kind and some more objects.
func (r *round) fill(ctx context.Context, k beside.Kind) error {
	return oracle.Each(ctx, perKind+1, 0, func(ctx context.Context, i int) error {
		if i < perKind {
			return r.create(ctx, k, oracle.NamespaceName(i%namespaces), k.Object(name(i)))
		}
		return r.create(ctx, k, marker.Namespace, k.Object(marker.Name))
	})
}

// create creates an object, unless one with its name exists.
func (r *round) create(ctx context.Context, k beside.Kind, namespace string, obj map[string]any) error {
	got, err := oracle.Create(ctx, r.server, k.Path(namespace, ""), &obj)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return err
	}
	meta, _ := (*got)["metadata"].(map[string]any)
	if meta["name"] == marker.Name {
		version, _ := meta["resourceVersion"].(string)
		r.want(k, version)
	}
	return nil
}

// crowd creates the many ConfigMaps, all in the marker's namespace.
func (r *round) crowd(ctx context.Context) error {
	return oracle.Each(ctx, r.opts.Objects, 0, func(ctx context.Context, i int) error {
		return r.create(ctx, r.kinds[0], marker.Namespace, r.kinds[0].Object(name(i)))
	})
}

// customKinds are resources without a Go type.
func customKinds() []beside.Kind {
	var kinds []beside.Kind
	for i := range customs {
		gvr := schema.GroupVersionResource{Group: group, Version: "v1", Resource: fmt.Sprintf("thing%ds", i)}
		kinds = append(kinds, beside.Custom(gvr, fmt.Sprintf("Thing%d", i), map[string]any{"spec": map[string]any{"value": "1"}}))
	}
	return kinds
}

// makeCustom defines the custom resources and returns when their objects exist.
func (r *round) makeCustom(ctx context.Context) error {
	return oracle.Each(ctx, len(r.kinds), 0, func(ctx context.Context, i int) error {
		k := r.kinds[i]
		if _, err := oracle.Create(ctx, r.server, crdPath, definition(k)); err != nil {
			return err
		}
		// A definition becomes established before all parts of the server know it.
		return oracle.Until(ctx, func() error {
			if err := r.fill(ctx, k); err != nil {
				return err
			}
			_, _, err := oracle.List[metav1.PartialObjectMetadata](ctx, r.server, k.Path("", ""), metav1.ListOptions{})
			return err
		})
	})
}

// dropCustom deletes the custom resources with their objects and returns when the server no longer
// serves them.
func (r *round) dropCustom(ctx context.Context) error {
	return oracle.Each(ctx, len(r.kinds), 0, func(ctx context.Context, i int) error {
		k := r.kinds[i]
		path := crdPath + "/" + k.GVR.Resource + "." + k.GVR.Group
		if err := r.server.Delete(ctx, path); err != nil {
			return err
		}
		return oracle.Until(ctx, func() error {
			_, err := oracle.Get[metav1.PartialObjectMetadata](ctx, r.server, path)
			if !apierrors.IsNotFound(err) {
				return errors.Join(errors.New("the definition is still there"), err)
			}
			_, _, err = oracle.List[metav1.PartialObjectMetadata](ctx, r.server, k.Path("", ""), metav1.ListOptions{})
			if !apierrors.IsNotFound(err) {
				return errors.Join(errors.New("the resource is still served"), err)
			}
			return nil
		})
	})
}

// definition returns the CustomResourceDefinition of k.
func definition(k beside.Kind) *map[string]any {
	singular := k.GVR.Resource[:len(k.GVR.Resource)-1]
	return &map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": k.GVR.Resource + "." + k.GVR.Group},
		"spec": map[string]any{
			"group": k.GVR.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": k.GVR.Resource, "singular": singular, "kind": k.Name},
			"versions": []any{map[string]any{
				"name": k.GVR.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	}
}
