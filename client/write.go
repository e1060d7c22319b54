package client

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion/queryparams"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/reflector"
)

// Get reads one object. The namespace of key may be left out if the Options have one.
//
// Get and the methods that write return an *apierrors.StatusError if the server refused (use
// apierrors.IsNotFound and its like), and the context's error if ctx is done. Otherwise their
// errors wrap the error of the transport, of the decoding, or one of this package.
func (r *Resource[T]) Get(ctx context.Context, key types.NamespacedName, opts metav1.GetOptions) (T, error) {
	return typedAnswer[T](getObject(ctx, r.core, nil, key, &opts))
}

// getObject reads an object, or its subresource at a path that is not empty. So it is for createObject,
// updateObject, patchObject and applyObject.
func getObject(ctx context.Context, r *resource, path []string, key types.NamespacedName, opts *metav1.GetOptions) (any, error) {
	return askForObject(ctx, r, call{verb: "get", method: http.MethodGet, key: key, subresource: path}, opts)
}

// Create writes a new object and returns it as stored. Its namespace comes from its metadata, or
// from the Options. If the object lacks kind or apiVersion, it is sent with the client's kind and
// apiVersion: servers require them in custom resources. The caller's object is not changed.
//
// A metav1.PartialObjectMetadata cannot be created or updated, only patched and applied:
// [ErrInvalid] for a metav1.PartialObjectMetadata.
func (r *Resource[T]) Create(ctx context.Context, object T, opts metav1.CreateOptions) (T, error) {
	return typedAnswer[T](createObject(ctx, r.core, nil, object, &opts))
}

func createObject(ctx context.Context, r *resource, path []string, object any, opts *metav1.CreateOptions) (any, error) {
	return putObject(ctx, r, call{verb: "create", method: http.MethodPost, subresource: path}, object, opts)
}

// Update replaces an object and returns it as stored. If the object has a resourceVersion that
// differs from the server's, the error is a conflict.
func (r *Resource[T]) Update(ctx context.Context, object T, opts metav1.UpdateOptions) (T, error) {
	return typedAnswer[T](updateObject(ctx, r.core, nil, object, &opts))
}

// UpdateStatus replaces only the status of an object, if status is a subresource. It is the
// same as Update of Subresource("status").
func (r *Resource[T]) UpdateStatus(ctx context.Context, object T, opts metav1.UpdateOptions) (T, error) {
	return typedAnswer[T](updateObject(ctx, r.core, statusPath, object, &opts))
}

// statusPath is the path of the subresource status.
var statusPath = []string{"status"}

func updateObject(ctx context.Context, r *resource, path []string, object any, opts *metav1.UpdateOptions) (any, error) {
	return putObject(ctx, r, call{verb: "update", method: http.MethodPut, subresource: path}, object, opts)
}

// putObject sends a call with an object, or a part of one, and returns the object in the answer.
func putObject(ctx context.Context, r *resource, c call, object any, opts any) (any, error) {
	if codecOf(r).partial && c.method != http.MethodPatch && !c.foreign() {
		return nil, refuse(r, c, errMetadataOnly)
	}
	if err := encode(r, &c, object); err != nil {
		return nil, refuse(r, c, err)
	}
	if c.method == http.MethodPatch {
		c.contentType = string(types.ApplyYAMLPatchType)
	}
	return askForObject(ctx, r, c, opts)
}

// askForObject sends a call whose answer is one object. opts is a pointer to options that go into the
// query.
func askForObject(ctx context.Context, r *resource, c call, opts any) (any, error) {
	var err error
	c.retry, c.encoding = true, "identity" // most objects are too small to be compressed
	if c.method != http.MethodPost || len(c.subresource) > 0 {
		if c.key, err = objectKey(r, c.key); err != nil {
			return nil, refuse(r, c, err)
		}
	}
	if err := checkSubresource(c.subresource); err != nil {
		return nil, refuse(r, c, err)
	}
	if !reflect.ValueOf(opts).Elem().IsZero() {
		if c.query, err = queryparams.Convert(opts); err != nil {
			return nil, refuse(r, c, err)
		}
	}
	a, err := ask(ctx, r, c, "")
	if err != nil {
		return nil, err
	}
	defer a.abandon()
	object, err := readBody(r, c, a)
	if err != nil {
		return nil, callError(r, c, remark{sized(r, err), ErrAccepted})
	}
	return object, nil
}

// encode sets the object's JSON and its key in a call.
func encode(r *resource, c *call, object any) error {
	raw, err := codecOf(r).json().Marshal(object)
	if err != nil {
		return err
	}
	if k := codecOf(r).json().Kind(raw); k != '{' {
		return fmt.Errorf("%w but %s", errNotAnObject, decode.KindName(k))
	}
	h := codecOf(r).json().Header(raw)
	want := expected(r)
	if c.foreign() {
		want = asIs(h)
	}
	if err := want.check(identityOf(h)); err != nil {
		return err
	}
	if h.Metadata.Name == "" && h.Metadata.GenerateName == "" {
		return reflector.ErrNoName
	}
	if c.body, err = namedIn(codecOf(r), raw, h, want); err != nil {
		return err
	}
	c.contentType = jsonType
	c.key = types.NamespacedName{Namespace: h.Metadata.Namespace}
	if c.method != http.MethodPost || len(c.subresource) > 0 {
		c.key.Name = h.Metadata.Name
		return nil // askForObject completes the key
	}
	c.creates = h.Metadata.Name
	c.key, err = completeKey(r, c.key)
	return err
}

// namedIn adds apiVersion and kind to an object's JSON if they are missing and known: custom
// resources need them, built-in types do not. They go to the end, where they override empty
// ones.
func namedIn(c *objectCodec, raw []byte, h decode.Header, want expectation) ([]byte, error) {
	var add metav1.TypeMeta
	if h.APIVersion == "" {
		add.APIVersion = want.apiVersion
	}
	if h.Kind == "" {
		add.Kind = want.kind
	}
	if add.Kind == "" && h.Kind == "" {
		add.Kind = want.guess
	}
	if add == (metav1.TypeMeta{}) {
		return raw, nil
	}
	end, err := c.json().Marshal(add)
	if err != nil {
		return nil, err
	}
	raw = bytes.TrimSuffix(bytes.TrimSpace(raw), []byte("}"))
	return append(append(raw, ','), end[1:]...), nil
}
