package fake

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// maxBody is the API server's own limit.
const maxBody = 3 << 20

const mergePatchType = string(types.MergePatchType)

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

// checkMedia compares the Content-Type with the one that is read here; none at all
// passes where plain JSON is read.
func checkMedia(r *http.Request, want string) error {
	header := r.Header.Get("Content-Type")
	if header == "" && want == "application/json" {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(header); err != nil || kind != want {
		return errUnsupportedMedia(header, want)
	}
	return nil
}

func refuseDryRun(dryRun []string) error {
	if len(dryRun) == 0 {
		return nil
	}
	return apierrors.NewBadRequest("dryRun is not supported by this server")
}

func (t *table[T]) serveWrite(w *response, r *http.Request, req request, verb Verb, body []byte) error {
	key := types.NamespacedName{Namespace: req.namespace, Name: req.name}
	if verb == VerbDelete {
		return t.serveDelete(w, r, key, body)
	}
	var v *version[T]
	var err error
	code := http.StatusOK
	switch verb {
	case VerbCreate:
		code = http.StatusCreated
		v, err = t.postObject(r, req, body)
	case VerbUpdate:
		v, err = t.putObject(r, req, key, body)
	default:
		v, err = t.patchObject(r, key, body)
	}
	if err != nil {
		return err
	}
	b, err := t.body(v, mediaWhole)
	if err != nil {
		return err
	}
	return w.bytes(code, b)
}

func (t *table[T]) postObject(r *http.Request, req request, body []byte) (*version[T], error) {
	obj, err := t.readObject(r, req, body)
	if err != nil {
		return nil, err
	}
	return t.create(obj)
}

func (t *table[T]) putObject(r *http.Request, req request, key types.NamespacedName, body []byte) (*version[T], error) {
	obj, err := t.readObject(r, req, body)
	if err != nil {
		return nil, err
	}
	if obj.GetName() != key.Name {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", obj.GetName(), key.Name))
	}
	return t.update(key, t.replacement(obj))
}

func (t *table[T]) patchObject(r *http.Request, key types.NamespacedName, body []byte) (*version[T], error) {
	if err := checkMedia(r, mergePatchType); err != nil {
		return nil, err
	}
	change, err := t.merging(body)
	if err != nil {
		return nil, err
	}
	return t.update(key, change)
}

// readObject decodes a whole object and settles its namespace with the URL's.
func (t *table[T]) readObject(r *http.Request, req request, body []byte) (obj T, err error) {
	if err := checkMedia(r, "application/json"); err != nil {
		return obj, err
	}
	var kind metav1.TypeMeta
	if err := utiljson.Unmarshal(body, &kind); err != nil {
		return obj, badBody(t.res.Kind, err)
	}
	if err := t.res.checkKind(kind.GroupVersionKind()); err != nil {
		return obj, err
	}
	obj = t.newObject()
	if err := decode(body, obj); err != nil {
		return obj, badBody(t.res.Kind, err)
	}
	switch ns := obj.GetNamespace(); {
	case t.res.ClusterScoped, ns == req.namespace:
	case ns == "":
		obj.SetNamespace(req.namespace)
	default:
		return obj, apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return obj, nil
}

func badBody(kind string, err error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version cannot be handled as a %s: %v", kind, kind, err))
}

// serveDelete answers with a Status, or with the object while finalizers hold it.
func (t *table[T]) serveDelete(w *response, r *http.Request, key types.NamespacedName, body []byte) error {
	var opts metav1.DeleteOptions
	if len(bytes.TrimSpace(body)) > 0 {
		if err := checkMedia(r, "application/json"); err != nil {
			return err
		}
		if err := utiljson.Unmarshal(body, &opts); err != nil {
			return badBody("DeleteOptions", err)
		}
	}
	if err := refuseDryRun(opts.DryRun); err != nil {
		return err
	}
	var pre preconditions
	if p := opts.Preconditions; p != nil {
		if p.UID != nil {
			pre.uid = *p.UID
		}
		if p.ResourceVersion != nil {
			pre.rv = *p.ResourceVersion
		}
	}
	last, final, err := t.remove(key, pre)
	if err != nil {
		return err
	}
	if !final {
		b, err := t.body(last, mediaWhole)
		if err != nil {
			return err
		}
		return w.bytes(http.StatusOK, b)
	}
	return w.json(http.StatusOK, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess,
		Details:  &metav1.StatusDetails{Name: key.Name, Group: t.res.Group, Kind: t.res.Name, UID: last.obj.GetUID()},
	})
}
