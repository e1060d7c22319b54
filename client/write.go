package client

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

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
	return one(ctx, r, call{verb: "get", method: http.MethodGet, key: key}, &opts)
}

// Create writes a new object and returns it as stored. Its namespace comes from its metadata,
// or from the Options. If the object lacks kind or apiVersion, it is sent with those of
// the client's kind: servers require them in custom resources. The caller's object is not changed.
//
// A metav1.PartialObjectMetadata cannot be created or updated, only patched and applied:
// [ErrMetadataOnly].
func (r *Resource[T]) Create(ctx context.Context, object T, opts metav1.CreateOptions) (T, error) {
	return putObject(ctx, r, call{verb: "create", method: http.MethodPost}, object, &opts)
}

// Update replaces an object and returns it as stored. If the object has a resourceVersion that
// differs from the server's, the error is a conflict.
func (r *Resource[T]) Update(ctx context.Context, object T, opts metav1.UpdateOptions) (T, error) {
	return putObject(ctx, r, call{verb: "update", method: http.MethodPut}, object, &opts)
}

// UpdateStatus replaces only the status of an object, if status is a subresource. It is the
// same as Update of Subresource("status").
func (r *Resource[T]) UpdateStatus(ctx context.Context, object T, opts metav1.UpdateOptions) (T, error) {
	return r.Subresource("status").Update(ctx, object, opts)
}

// putObject sends a call with an object, or a part of one, and returns the object in the answer.
func putObject[T any](ctx context.Context, r *Resource[T], c call, object any, opts any) (T, error) {
	if r.objects.partial && c.method != http.MethodPatch && !c.foreign() {
		return *new(T), refuse(r, c, ErrMetadataOnly)
	}
	if err := encode(r, &c, object); err != nil {
		return *new(T), refuse(r, c, err)
	}
	if c.method == http.MethodPatch {
		c.contentType = string(types.ApplyYAMLPatchType)
	}
	return one(ctx, r, c, opts)
}

// one sends a call whose answer is one object. opts is a pointer to options that go into the
// query.
func one[T any](ctx context.Context, r *Resource[T], c call, opts any) (T, error) {
	var err error
	none := *new(T)
	c.accept, c.retry = acceptAnswer(r, ""), true
	if c.method != http.MethodPost || len(c.subresource) > 0 {
		if c.key, err = objectKey(r, c.key); err != nil {
			return none, refuse(r, c, err)
		}
	}
	if err := checkSubresource(c.subresource); err != nil {
		return none, refuse(r, c, err)
	}
	if c.query, err = queryparams.Convert(opts); err != nil {
		return none, refuse(r, c, err)
	}
	a, err := ask(ctx, r, c, "")
	if err != nil {
		return none, err
	}
	defer a.abandon()
	object, err := readBody(r, c, a)
	if err != nil {
		return none, fail(r, c, remark{sized(r, err), ErrAccepted})
	}
	return object, nil
}

// objectKey checks the key of a call that needs a name.
func objectKey[T any](r *Resource[T], key types.NamespacedName) (types.NamespacedName, error) {
	if key.Name == "" {
		return key, reflector.ErrNoName
	}
	return completeKey(r, key)
}

// encode sets the object's JSON and its key in a call.
func encode[T any](r *Resource[T], c *call, object any) error {
	raw, err := r.objects.json.Marshal(object)
	if err != nil {
		return err
	}
	if k := r.objects.json.Kind(raw); k != '{' {
		return fmt.Errorf("%w but %s", ErrNotAnObject, decode.KindName(k))
	}
	h := r.objects.json.Header(raw)
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
	if c.body, err = namedIn(&r.objects, raw, h, want); err != nil {
		return err
	}
	c.contentType = jsonType
	c.key = types.NamespacedName{Namespace: h.Metadata.Namespace}
	if c.method != http.MethodPost || len(c.subresource) > 0 {
		c.key.Name = h.Metadata.Name
		return nil // one completes the key
	}
	c.creates = h.Metadata.Name
	c.key, err = completeKey(r, c.key)
	return err
}

// namedIn adds apiVersion and kind to an object's JSON if they are missing and known: custom
// resources need them, built-in types do not. They go to the end, where they override empty
// ones.
func namedIn[T any](c *objectCodec[T], raw []byte, h decode.Header, want expectation) ([]byte, error) {
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
	end, err := c.json.Marshal(add)
	if err != nil {
		return nil, err
	}
	raw = bytes.TrimSuffix(bytes.TrimSpace(raw), []byte("}"))
	return append(append(raw, ','), end[1:]...), nil
}
