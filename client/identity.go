package client

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/reflector"
)

const (
	partialKind = "PartialObjectMetadata"
	tableKind   = "Table"
	statusKind  = "Status"
)

// identity holds the properties of an object that the protocol needs, whatever its T.
type identity struct {
	apiVersion, kind string
	namespace, name  string
	resourceVersion  string
}

// key returns "namespace/name" or "name", or empty text if the name is not known.
func (id identity) key() string {
	if id.name == "" || id.namespace == "" {
		return id.name
	}
	return id.namespace + "/" + id.name
}

// kinded is a type with an embedded metav1.TypeMeta, or one like it.
type kinded interface{ GetObjectKind() schema.ObjectKind }

// typeMeta returns the TypeMeta in the object, nil if it has none.
func typeMeta(object any) *metav1.TypeMeta {
	k, ok := object.(kinded)
	if !ok {
		return nil
	}
	tm, _ := k.GetObjectKind().(*metav1.TypeMeta)
	return tm
}

// identify reads the identity from a decoded object; ok is false if the object's type does not
// have all of it.
func identify(object any) (id identity, ok bool) {
	switch o := object.(type) {
	case *unstructured.Unstructured:
		return identity{
			apiVersion: o.GetAPIVersion(), kind: o.GetKind(),
			namespace: o.GetNamespace(), name: o.GetName(),
			resourceVersion: o.GetResourceVersion(),
		}, true
	case metav1.Object:
		tm := typeMeta(object)
		if tm == nil {
			return identity{}, false
		}
		return identity{
			apiVersion: tm.APIVersion, kind: tm.Kind,
			namespace: o.GetNamespace(), name: o.GetName(),
			resourceVersion: o.GetResourceVersion(),
		}, true
	}
	return identity{}, false
}

// identityOf returns the identity in the header.
func identityOf(h decode.Header) identity {
	return identity{
		apiVersion: h.APIVersion, kind: h.Kind,
		namespace: h.Metadata.Namespace, name: h.Metadata.Name,
		resourceVersion: h.Metadata.ResourceVersion,
	}
}

// expectation is the identity that a stream's objects must have. An empty kind is not known.
type expectation struct {
	apiVersion, kind string
	// guess is the kind of objects without their own kind: the list's kind without "List".
	guess string
	// partial says that the objects may also be metadata only. The Accept header requests
	// that, but older and aggregated servers may not support it.
	partial bool
}

// asIs returns an expectation that accepts the kind in h, because the true kind is not known.
func asIs(h decode.Header) expectation { return expectation{apiVersion: h.APIVersion, kind: h.Kind} }

// check returns an error that wraps errTable or errWrongKind if an object of this identity
// cannot be in the stream. Missing kind and apiVersion are accepted: servers leave them out of
// the items of a list.
func (w expectation) check(id identity) error {
	if isMeta(id.apiVersion) {
		if id.kind == tableKind {
			return errTable
		}
		if w.partial && id.kind == partialKind {
			return nil
		}
	}
	if id.apiVersion != "" && id.apiVersion != w.apiVersion || id.kind != "" && w.kind != "" && id.kind != w.kind {
		err := fmt.Errorf("%w: got %s, want %s", errWrongKind, kindName(id.apiVersion, id.kind), kindName(w.apiVersion, w.kind))
		if id.apiVersion == w.apiVersion {
			err = fmt.Errorf("%w: %s", err, adviceFor(id.kind))
		}
		return err
	}
	if id.kind == "" && w.misled() {
		return fmt.Errorf("%w: a list of %s, want %s: %s", errWrongKind, w.guess, kindName(w.apiVersion, w.kind), adviceFor(w.guess))
	}
	return nil
}

// adviceFor says what to do if a Kind does not fit its objects, which are of another kind of its group and version.
func adviceFor(kind string) string {
	return fmt.Sprintf("use the Go type of %s or, if only its name differs, Named(%q) of the Kind", kind, kind)
}

// misled reports whether the objects without their own kind are of another kind than expected.
func (w expectation) misled() bool { return w.kind != "" && w.guess != "" && w.guess != w.kind }

// judge returns err, or a mismatch between this identity and the expectation.
func (w *expectation) judge(id identity, err error) error {
	mismatch := w.check(id)
	switch {
	case mismatch != nil && !errors.Is(err, errNotAnObject):
		return mismatch // more informative than the field that did not fit
	case err != nil:
		return err
	case id.name == "":
		return reflector.ErrNoName
	}
	return nil
}

// settle makes the kind of an accepted object the expected kind of later ones.
func (w *expectation) settle(id identity) {
	switch {
	case w.kind != "" || isMeta(id.apiVersion):
	case id.kind != "":
		w.kind = id.kind
	default:
		w.kind = w.guess
	}
}

// isMeta reports whether apiVersion belongs to the group of Table and PartialObjectMetadata.
func isMeta(apiVersion string) bool {
	return strings.HasPrefix(apiVersion, metav1.GroupName+"/")
}

func kindName(apiVersion, kind string) string {
	if kind == "" {
		kind = "any kind"
	}
	if apiVersion == "" {
		return kind
	}
	return apiVersion + " " + kind
}

// likelyText is string(text), without an allocation if that is equal to likely.
func likelyText(text []byte, likely string) string {
	if string(text) == likely {
		return likely
	}
	return string(text)
}
