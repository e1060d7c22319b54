package fake

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"

	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/fake/internal/wire"
)

// maxBody is the API server's own limit.
const maxBody = 3 << 20

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	case err != nil:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("reading the body: %v", err))
	}
	return b, nil
}

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

// checkName refuses an object that is not the one of the URL.
func checkName(obj metav1.Object, name string) error {
	switch obj.GetName() {
	case name:
		return nil
	case "":
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", name))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", obj.GetName(), name))
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

// badBody is the 400 of a body that does not fit the kind that it states.
func badBody(r *Resource, err error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", r.Kind, r.Version, r.Kind, err))
}

// errNoKind is the 400 of a body that is not an object at all.
func errNoKind(r *Resource, err error, body []byte) error {
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): couldn't get version/kind; json parse error: %v (%s)",
		r.Kind, err, summary(body)))
}

// maxSummary is how much of a body is told back.
const maxSummary = 30

func summary(body []byte) string {
	shown, more := body, ""
	if len(shown) > maxSummary {
		shown, more = shown[:maxSummary], " ..."
	}
	switch {
	case len(shown) == 0:
		return "<empty>"
	case shown[0] == '{':
		return string(shown) + more
	}
	return hex.EncodeToString(shown) + more
}

// checkStrict refuses members that T does not have and members that come twice.
func (t *table[T]) checkStrict(body []byte) error {
	obj := t.newObject()
	var into any = obj
	if t.untyped() {
		into = &map[string]any{}
	}
	errs, err := kjson.UnmarshalStrict(body, into)
	if err != nil {
		return badBody(&t.res, err)
	}
	if _, ok := any(obj).(interface{ GetObjectKind() schema.ObjectKind }); !ok {
		errs = slices.DeleteFunc(errs, func(err error) bool {
			return err.Error() == `unknown field "kind"` || err.Error() == `unknown field "apiVersion"`
		})
	}
	if len(errs) > 0 {
		return badBody(&t.res, runtime.NewStrictDecodingError(errs))
	}
	return nil
}
