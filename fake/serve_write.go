package fake

import (
	"context"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/fake/internal/answer"
	"github.com/kinform/kinform/fake/internal/wire"
)

// serveWrite answers with the object as stored.
func (t *table) serveWrite(w *answer.Writer, r *http.Request, req parsedRequest, verb faults.Verb, body []byte, media wire.Media) error {
	switch verb {
	case faults.VerbDelete:
		return t.serveDelete(w, r, req.key(), body, media)
	case faults.VerbDeleteCollection:
		return t.serveDeleteCollection(w, r, req, body, media)
	}
	if verb == faults.VerbCreate && t.hooks.act != nil {
		return t.serveAct(w, r, req, body)
	}
	v, created, err := t.store(r, req, verb, body)
	if err != nil {
		return err
	}
	code := http.StatusOK
	if created {
		code = http.StatusCreated
	}
	return t.answer(w, code, v, media)
}

// answer answers with an object.
func (t *table) answer(w *answer.Writer, code int, v *revision, media wire.Media) error {
	b, err := t.body(v, media)
	if err != nil {
		return err
	}
	return w.Bytes(code, media.ContentType(), b)
}

// serveAct carries out an order.
func (t *table) serveAct(w *answer.Writer, r *http.Request, req parsedRequest, body []byte) error {
	how, err := readWrite(r, req, metav1.Convert_url_Values_To_v1_CreateOptions, createOptions)
	if err != nil {
		return err
	}
	obj, err := t.readObject(r, req, body)
	if err != nil {
		return err
	}
	req.creates(obj)
	if err := t.admitAction(keyFrom(obj), t.res.GroupVersionKind(), obj, how); err != nil {
		return err
	}
	if err := t.hooks.act(r.Context(), obj, how.dryRun); err != nil {
		return err
	}
	return w.Status(http.StatusCreated, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess, Code: http.StatusCreated,
	})
}

// store writes the object or the patch in the body of a request.
func (t *table) store(r *http.Request, req parsedRequest, verb faults.Verb, body []byte) (v *revision, created bool, err error) {
	switch verb {
	case faults.VerbCreate:
		v, err = t.postObject(r, req, body)
		return v, true, err
	case faults.VerbUpdate:
		return t.putObject(r, req, body)
	}
	return t.patchObject(r, req, body)
}

func (t *table) postObject(r *http.Request, req parsedRequest, body []byte) (*revision, error) {
	w, err := readWrite(r, req, metav1.Convert_url_Values_To_v1_CreateOptions, createOptions)
	if err != nil {
		return nil, err
	}
	obj, err := t.readObject(r, req, body)
	if err != nil {
		return nil, err
	}
	req.creates(obj)
	v, err := t.create(obj, w)
	if err == nil {
		req.creates(v.obj)
	}
	return v, err
}

func (t *table) putObject(r *http.Request, req parsedRequest, body []byte) (v *revision, created bool, err error) {
	w, err := readWrite(r, req, metav1.Convert_url_Values_To_v1_UpdateOptions, updateOptions)
	if err != nil {
		return nil, false, err
	}
	obj, err := t.readObject(r, req, body)
	if err != nil {
		return nil, false, err
	}
	if err := checkName(obj, req.name); err != nil {
		return nil, false, err
	}
	w.sent = body
	return t.replace(obj, w)
}

func (t *table) patchObject(r *http.Request, req parsedRequest, body []byte) (v *revision, created bool, err error) {
	contentType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	kind := types.PatchType(contentType)
	if err := t.checkPatchType(kind); err != nil {
		return nil, false, err
	}
	w, err := readWrite(r, req, metav1.Convert_url_Values_To_v1_PatchOptions, sentPatchOptions(kind))
	if err != nil {
		return nil, false, err
	}
	w.sent, w.patch = body, kind
	return t.patch(req.key(), kind, body, w)
}

// sentPatchOptions is patchOptions for [readWrite]: what a client sends is looked at for unknown members.
func sentPatchOptions(kind types.PatchType) func(context.Context, metav1.PatchOptions) (write, error) {
	return func(ctx context.Context, opts metav1.PatchOptions) (write, error) {
		w, err := patchOptions(ctx, kind, opts)
		w.lenient = !w.strict && opts.FieldValidation != metav1.FieldValidationIgnore
		return w, err
	}
}

// readWrite reads the options of a write from r's query and checks them. The field manager of a
// request that names none is the part of its User-Agent before the slash.
func readWrite[O any](r *http.Request, req parsedRequest, convert converter[O], check func(context.Context, O) (write, error)) (write, error) {
	opts, err := readQuery(r, convert)
	if err != nil {
		return write{}, err
	}
	w, err := check(r.Context(), opts)
	w.subresource, w.warn = req.subresource, req.warn
	if w.manager == "" {
		w.manager, _, _ = strings.Cut(r.UserAgent(), "/")
	}
	return w, err
}
