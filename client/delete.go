package client

import (
	"context"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// consentLimit bounds the part of the answer to a deletion that is read. One object is
// smaller; the answer to DeleteCollection can hold all that it deleted.
const consentLimit = 4 << 20

// Delete asks the server to delete an object. It returns when the server accepts, which
// may be before the object is gone.
func (r *Resource[T]) Delete(ctx context.Context, key types.NamespacedName, opts metav1.DeleteOptions) error {
	c := call{verb: "delete", key: key, accept: jsonType}
	var err error
	if c.key, err = r.objectKey(key); err != nil {
		return r.fail(c, err)
	}
	return r.remove(ctx, c, opts)
}

// DeleteCollection asks the server to delete all objects that the Options and list select
// (both, where both have a selector). Without any selector these are all of the namespace
// in the Options, or of all namespaces; built-in resources refuse the latter. It returns
// when each deletion is accepted or one has failed; what was deleted before that stays so.
func (r *Resource[T]) DeleteCollection(ctx context.Context, opts metav1.DeleteOptions, list metav1.ListOptions) error {
	c := call{
		verb: "deletecollection",
		key:  types.NamespacedName{Namespace: r.options.Namespace},
		// The answer lists what was deleted, of which nothing is used.
		accept: fmt.Sprintf("%s;as=%sList;g=%s;v=v1,%[1]s", jsonType, partialKind, metav1.GroupName),
	}
	var err error
	if c.query, err = r.selection(list, false); err != nil {
		return r.fail(c, err)
	}
	return r.remove(ctx, c, opts)
}

func (r *Resource[T]) remove(ctx context.Context, c call, opts metav1.DeleteOptions) (err error) {
	c.method, c.contentType, c.retry = http.MethodDelete, jsonType, true
	opts.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}
	if c.body, err = r.objects.json.marshal(&opts); err != nil {
		return r.fail(c, err)
	}
	a, err := r.send(ctx, c)
	if err != nil {
		return err
	}
	defer a.abandon()
	if err := r.objects.accepted(a); err != nil {
		return r.fail(c, err)
	}
	return nil
}

// accepted checks the answer to a deletion: a Status, the object, or a list. All is done
// when its header comes, so the end of a long one does not matter.
func (c *objectCodec[T]) accepted(a *answer) error {
	body, err := io.ReadAll(io.LimitReader(a, consentLimit))
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if len(body) == consentLimit && firstByte(body) == '{' {
		return nil
	}
	raw, err := delimit(body)
	if err != nil {
		return fmt.Errorf("%w: %w (%s)", ErrNotKubernetes, err, a.excerpt())
	}
	if st, ok := c.status(raw); ok && st.Status != metav1.StatusSuccess {
		return &apierrors.StatusError{ErrStatus: st}
	}
	if c.scan(raw).Kind == "" {
		return fmt.Errorf("%w: no \"kind\" (%s)", ErrNotKubernetes, a.excerpt())
	}
	return nil
}
