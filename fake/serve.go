package fake

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// serve answers a request for the resource or for one of its objects.
func (t *table[T]) serve(w *response, r *http.Request, req request) error {
	opts, verb, err := t.verbOf(r, req)
	if err != nil {
		return err
	}
	f := t.server.strike(verb, t.res.groupResource(), true)
	if f != nil {
		if f.Status != nil {
			return f.Status
		}
		if f.CutBytes > 0 {
			w.cut = f.CutBytes
		}
	}
	media, err := negotiate(r.Header.Values("Accept"))
	if err != nil {
		return err
	}
	switch verb {
	case VerbList:
		return t.serveList(w, req, opts, media, f)
	case VerbWatch:
		return t.serveWatch(w, r, req, opts, media, f)
	case VerbGet:
		return t.serveGet(w, req, opts, media)
	}
	if err := refuseDryRun(r.URL.Query()["dryRun"]); err != nil {
		return err
	}
	body, err := readBody(w.w, r)
	if err != nil {
		return err
	}
	return t.serveWrite(w, r, req, verb, body)
}

// verbOf says what is asked for, or that it is not to be had.
func (t *table[T]) verbOf(r *http.Request, req request) (opts metav1.ListOptions, verb Verb, err error) {
	collection, writable := req.name == "", req.namespace != "" || t.res.ClusterScoped
	switch {
	case r.Method == http.MethodGet:
		query := r.URL.Query()
		if err := metav1.Convert_url_Values_To_v1_ListOptions(&query, &opts, nil); err != nil {
			return opts, "", apierrors.NewBadRequest(err.Error())
		}
		switch {
		case !collection:
			return opts, VerbGet, nil
		case opts.Watch:
			return opts, VerbWatch, nil
		}
		return opts, VerbList, nil
	case r.Method == http.MethodPost && collection && writable:
		return opts, VerbCreate, nil
	case r.Method == http.MethodPut && !collection:
		return opts, VerbUpdate, nil
	case r.Method == http.MethodPatch && !collection:
		return opts, VerbPatch, nil
	case r.Method == http.MethodDelete && !collection:
		return opts, VerbDelete, nil
	}
	return opts, "", errMethod()
}

func (t *table[T]) serveGet(w *response, req request, opts metav1.ListOptions, media mediaForm) error {
	rv, err := parseRV(opts.ResourceVersion)
	if err != nil {
		return err
	}
	t.server.mu.Lock()
	v, current := t.live(types.NamespacedName{Namespace: req.namespace, Name: req.name}), t.server.rv
	t.server.mu.Unlock()
	if rv > current {
		return errTooLarge(rv, current)
	}
	if v == nil {
		return apierrors.NewNotFound(t.res.groupResource(), req.name)
	}
	b, err := t.body(v, media)
	if err != nil {
		return err
	}
	return w.bytes(http.StatusOK, b)
}

// serveList writes a list object by object. All objects are encoded before the first
// byte is sent, so that one that cannot be is a Status and no broken answer.
func (t *table[T]) serveList(w *response, req request, opts metav1.ListOptions, media mediaForm, f *Fault) error {
	m, err := Selection{Namespace: req.namespace}.matcher(opts)
	if err != nil {
		return err
	}
	q, err := t.listRequest(opts)
	if err != nil {
		return err
	}
	p, err := t.list(m, q)
	if err != nil {
		return err
	}
	items := make([][]byte, len(p.items))
	for i, v := range p.items {
		b, err := t.body(v, media)
		if err != nil {
			return err
		}
		items[i] = t.itemBody(b)
	}
	head, err := t.listHead(p.meta, media)
	if err != nil {
		return err
	}
	cut := -1
	if f != nil && f.CutEvents > 0 {
		cut = f.CutEvents
	}
	return writeList(w, head, items, cut)
}

func writeList(w *response, head []byte, items [][]byte, cut int) error {
	if err := w.bytes(http.StatusOK, head); err != nil {
		return err
	}
	for i, b := range items {
		if i == cut {
			w.breakOff()
		}
		if i > 0 {
			b = append([]byte{','}, b...)
		}
		if _, err := w.buf.Write(b); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w.buf, "]}\n")
	return err
}

// itemBody leaves the kind out where the API server does: in the items of lists of its
// own resources, so that clients do not come to rely on it. Unstructured objects, whose
// JSON does not begin with it, keep it.
func (t *table[T]) itemBody(b []byte) []byte {
	if t.res.custom() {
		return b
	}
	stated := fmt.Sprintf(`{"kind":%q,"apiVersion":%q,`, t.res.Kind, t.res.groupVersion())
	if rest, ok := bytes.CutPrefix(b, []byte(stated)); ok {
		return append([]byte{'{'}, rest...)
	}
	return b
}

// body returns the JSON of one object in the form that the client asked for.
func (t *table[T]) body(v *version[T], media mediaForm) ([]byte, error) {
	b, err := v.json(&t.res)
	if err == nil && media == mediaPartial {
		b, err = partial(b)
	}
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("encoding %s %q: %w", t.res.Kind, v.key, err))
	}
	return b, nil
}
