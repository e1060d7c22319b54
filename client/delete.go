package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/objmeta"
	"github.com/kinform/kinform/internal/removal"
)

// consentLimit limits the part of a deletion's answer that is held in memory. One object is
// smaller. The answer to DeleteCollection can contain all deleted objects.
const consentLimit = 4 << 20

// Delete asks the server to delete an object. It returns when the server accepts, which
// may be before the object is gone.
//
//go:noinline
func (r *Resource[T]) Delete(ctx context.Context, key types.NamespacedName, opts metav1.DeleteOptions) error {
	_, err := removeObject(ctx, r.core, key, &opts)
	return err
}

// Remove is for package controller: it is Delete, and returns the answer.
func (r *Resource[T]) Remove(ctx context.Context, key types.NamespacedName, opts metav1.DeleteOptions) (removal.Answer[T], error) {
	said, err := removeObject(ctx, r.core, key, &opts)
	return removal.Answer[T]{UID: said.UID, Object: typed[T](said.Object), Answered: said.Answered}, err
}

func removeObject(ctx context.Context, r *resource, key types.NamespacedName, opts *metav1.DeleteOptions) (removal.Answer[any], error) {
	c := call{verb: "delete", key: key, accept: jsonType}
	var err error
	if c.key, err = objectKey(r, key); err != nil {
		return removal.Answer[any]{}, refuse(r, c, err)
	}
	said, err := remove(ctx, r, c, opts)
	if err != nil || said.kind == statusKind {
		return removal.Answer[any]{UID: said.uid}, err
	}
	d, err := decodeSingle(codecOf(r), single{encoding: inJSON, body: said.body}, expected(r))
	if err != nil {
		return removal.Answer[any]{}, nil // the server has accepted the deletion nevertheless
	}
	return removal.Answer[any]{UID: objmeta.UIDOf(d.object), Object: d.object, Answered: true}, nil
}

// DeleteCollection asks the server to delete all objects that match the selectors of both the
// Options and list. Without any selector it deletes all objects of the namespace in the
// Options, or of all namespaces; built-in resources refuse the latter. It returns when every
// deletion is accepted or one has failed. Deletions accepted before a failure are not undone.
//
//go:noinline
func (r *Resource[T]) DeleteCollection(ctx context.Context, opts metav1.DeleteOptions, list metav1.ListOptions) error {
	return removeCollection(ctx, r.core, &opts, &list)
}

func removeCollection(ctx context.Context, r *resource, opts *metav1.DeleteOptions, list *metav1.ListOptions) error {
	c := call{
		verb: "deletecollection",
		key:  types.NamespacedName{Namespace: r.options.Namespace},
		// The answer lists the deleted objects, which are not used.
		accept: fmt.Sprintf("%s;as=%sList;g=%s;v=v1,%[1]s", jsonType, partialKind, metav1.GroupName),
	}
	var err error
	if c.query, err = selection(r, list, false); err != nil {
		return refuse(r, c, err)
	}
	_, err = remove(ctx, r, c, opts)
	return err
}

// deletionAnswer is the answer to a deletion.
type deletionAnswer struct {
	kind string
	uid  types.UID // in a Status
	body []byte    // JSON; nil if it is too long
}

func remove(ctx context.Context, r *resource, c call, opts *metav1.DeleteOptions) (said deletionAnswer, err error) {
	c.method, c.contentType, c.retry = http.MethodDelete, jsonType, true
	opts.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}
	if c.body, err = codecOf(r).json().Marshal(opts); err != nil {
		return said, refuse(r, c, err)
	}
	a, err := sendCall(ctx, r, c)
	if err != nil {
		return said, err
	}
	defer a.abandon()
	if said, err = acceptedBy(codecOf(r), a); err != nil {
		return said, callError(r, c, err)
	}
	return said, nil
}

// acceptedBy checks the answer to a deletion: a Status, the object, or a list. The deletion is
// accepted when the header arrives, so the rest of a long answer does not matter. Only its
// kind does, which Status and list have.
func acceptedBy(c *objectCodec, a *answer) (said deletionAnswer, err error) {
	body, err := io.ReadAll(io.LimitReader(a, consentLimit))
	if err != nil {
		return said, fmt.Errorf("reading the answer: %w", err)
	}
	if len(body) == consentLimit {
		said.kind, err = longKind(a, body)
	} else {
		var st metav1.Status
		if st, said, err = consent(c, a.encoding(), body); err == nil && said.kind == statusKind && st.Status != metav1.StatusSuccess {
			return said, failed(st)
		}
	}
	if err == nil && said.kind == "" {
		err = errors.New(`no "kind"`)
	}
	if err != nil {
		return said, a.unlike(err)
	}
	return said, nil
}

// consent reads a whole answer, and the Status if it is one.
func consent(c *objectCodec, e encoding, body []byte) (st metav1.Status, said deletionAnswer, err error) {
	var ok bool
	if e == inProtobuf {
		var m rawMessage
		m, err = openEnvelope(body, expectation{})
		said.kind = m.kind
		if st, ok = m.status(); ok {
			said.kind = statusKind
		}
	} else {
		said.body, err = decode.Delimit(body)
	}
	if err != nil {
		return st, said, err
	}
	if said.body != nil {
		said.kind = c.json().Header(said.body).Kind
		if st, ok = jsonStatus(c, said.body); ok {
			said.kind = statusKind
		}
	}
	if st.Details != nil {
		said.uid = st.Details.UID
	}
	return st, said, nil
}

// longKind finds the kind in a long answer, whose beginning is start. It holds no more of the
// answer than start. A Status is never so long.
func longKind(a *answer, start []byte) (kind string, err error) {
	if e := a.encoding(); e == inProtobuf {
		m, _ := openEnvelope(start, expectation{})
		kind = m.kind
	} else {
		kind, err = kindIn(decode.NewJSON(io.MultiReader(bytes.NewReader(start), a), consentLimit))
	}
	if err == nil && kind == statusKind {
		err = fmt.Errorf("a %s of more than %d bytes", kind, consentLimit)
	}
	return kind, err
}

// kindIn reads an object up to its kind.
func kindIn(r *decode.Reader) (kind string, err error) {
	found := errors.New("found")
	err = decode.EachMember(r, func(name string) error {
		if name != "kind" {
			return r.Skip()
		}
		if err := decode.ReadIfText(r, &kind); err != nil {
			return err
		}
		return found
	})
	if err == found {
		err = nil
	}
	return kind, err
}
