package fake

import (
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/fake/internal/wire"
)

func (t *table[T]) serveWrite(w *response, r *http.Request, req request, verb faults.Verb, body []byte, media wire.Media) error {
	switch key := (types.NamespacedName{Namespace: req.namespace, Name: req.name}); verb {
	case faults.VerbDelete:
		return t.serveDelete(w, r, key, body, media)
	case faults.VerbDeleteCollection:
		return t.serveDeleteCollection(w, r, req, body, media)
	}
	v, created, err := t.store(r, req, verb, body)
	if err != nil {
		return err
	}
	b, err := t.body(v, media)
	if err != nil {
		return err
	}
	code := http.StatusOK
	if created {
		code = http.StatusCreated
	}
	return w.bytes(code, media.ContentType(), b)
}

// store does what a request with an object or a patch in its body asks for.
func (t *table[T]) store(r *http.Request, req request, verb faults.Verb, body []byte) (v *version[T], created bool, err error) {
	switch verb {
	case faults.VerbCreate:
		v, err = t.postObject(r, req, body)
		return v, true, err
	case faults.VerbUpdate:
		v, err = t.putObject(r, req, body)
		return v, false, err
	}
	return t.patchObject(r, req, body)
}

func (t *table[T]) postObject(r *http.Request, req request, body []byte) (*version[T], error) {
	var opts metav1.CreateOptions
	query := r.URL.Query()
	if err := metav1.Convert_url_Values_To_v1_CreateOptions(&query, &opts, nil); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	w, err := writeOptions("CreateOptions", opts.DryRun, opts.FieldManager, opts.FieldValidation)
	if err != nil {
		return nil, err
	}
	obj, err := t.readObject(r, req, body)
	if err != nil {
		return nil, err
	}
	w.manager = managerOf(r, w.manager)
	return t.create(obj, w)
}

func (t *table[T]) putObject(r *http.Request, req request, body []byte) (*version[T], error) {
	var opts metav1.UpdateOptions
	query := r.URL.Query()
	if err := metav1.Convert_url_Values_To_v1_UpdateOptions(&query, &opts, nil); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	w, err := writeOptions("UpdateOptions", opts.DryRun, opts.FieldManager, opts.FieldValidation)
	if err != nil {
		return nil, err
	}
	obj, err := t.readObject(r, req, body)
	if err != nil {
		return nil, err
	}
	if err := checkName(obj, req.name); err != nil {
		return nil, err
	}
	w.manager, w.status = managerOf(r, w.manager), req.subresource != ""
	return t.replace(obj, w)
}

func (t *table[T]) patchObject(r *http.Request, req request, body []byte) (v *version[T], created bool, err error) {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	p := patchBody{kind: types.PatchType(kind), data: body}
	if err := t.checkPatchType(p.kind); err != nil {
		return nil, false, err
	}
	var opts metav1.PatchOptions
	query := r.URL.Query()
	if err := metav1.Convert_url_Values_To_v1_PatchOptions(&query, &opts, nil); err != nil {
		return nil, false, apierrors.NewBadRequest(err.Error())
	}
	w, err := patchOptions(p.kind, opts)
	if err != nil {
		return nil, false, err
	}
	p.force = opts.Force != nil && *opts.Force
	w.manager, w.status = managerOf(r, opts.FieldManager), req.subresource != ""
	return t.patch(types.NamespacedName{Namespace: req.namespace, Name: req.name}, p, w)
}

// managerOf names the field manager of a request: the one it states, or what comes before
// the slash of its User-Agent.
func managerOf(r *http.Request, stated string) string {
	if stated != "" {
		return stated
	}
	agent, _, _ := strings.Cut(r.UserAgent(), "/")
	return agent
}

// readObject decodes a whole object and settles its namespace with the URL's.
func (t *table[T]) readObject(r *http.Request, req request, body []byte) (obj T, err error) {
	format, err := wire.BodyFormat(r, t.protobuf)
	if err != nil {
		return obj, err
	}
	obj = t.newObject()
	if err := t.decodeObject(format, body, obj); err != nil {
		return obj, err
	}
	if format == wire.JSON && r.URL.Query().Get("fieldValidation") == metav1.FieldValidationStrict {
		if err := t.checkStrict(body); err != nil {
			return obj, err
		}
	}
	switch ns := obj.GetNamespace(); {
	case t.res.ClusterScoped, ns == req.namespace:
	case ns == "":
		obj.SetNamespace(req.namespace)
	default:
		return obj, refusal.OtherNamespace()
	}
	return obj, nil
}
