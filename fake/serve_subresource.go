package fake

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/fake/internal/answer"
	"github.com/kinform/kinform/fake/internal/patch"
	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/fake/internal/wire"
)

// serveSubresource answers a request for a subresource that a hook defines.
func (t *table) serveSubresource(w *answer.Writer, r *http.Request, req parsedRequest, verb faults.Verb, h subresourceHook) error {
	if h.text != nil {
		return t.serveText(w, r, req, verb, h)
	}
	media, err := wire.Offer{Protobuf: h.protobuf, Custom: t.res.custom()}.Negotiate(r)
	if err != nil {
		return err
	}
	w.Protobuf = media.Protobuf
	body, err := readBody(r)
	if err != nil {
		return err
	}
	out, code := metav1.Object(nil), http.StatusOK
	switch {
	case !slices.Contains(h.verbs(), string(verb)):
		return refusal.Method()
	case verb == faults.VerbGet && h.get != nil:
		out, err = t.showView(req, h)
	case verb == faults.VerbCreate && h.do != nil:
		out, err = t.act(r, req, h, body)
		code = http.StatusCreated
	case verb == faults.VerbUpdate && h.set != nil:
		out, err = t.putView(r, req, h, body)
	case verb == faults.VerbPatch && h.set != nil:
		out, err = t.patchView(r, req, h, body)
	default:
		return refusal.Method()
	}
	switch {
	case err != nil:
		return err
	case out == nil:
		return w.Status(code, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess, Code: int32(code)})
	}
	b, err := h.encode(out, media.Protobuf)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	return w.Bytes(code, media.ContentType(), b)
}

func (t *table) serveText(w *answer.Writer, r *http.Request, req parsedRequest, verb faults.Verb, h subresourceHook) error {
	if verb != faults.VerbGet {
		return refusal.Method()
	}
	v, err := t.read(req.key(), "")
	if err != nil {
		return err
	}
	text, err := h.text(r.Context(), v.obj, r.URL.Query())
	switch {
	case err != nil:
		return err
	case text == "":
		return w.Bytes(http.StatusNoContent, "", nil)
	}
	return w.Bytes(http.StatusOK, "text/plain", []byte(text))
}

func (t *table) showView(req parsedRequest, h subresourceHook) (metav1.Object, error) {
	v, err := t.read(req.key(), "")
	if err != nil {
		return nil, err
	}
	return h.get(v.obj)
}

func (t *table) act(r *http.Request, req parsedRequest, h subresourceHook, body []byte) (metav1.Object, error) {
	w, err := readWrite(r, req, metav1.Convert_url_Values_To_v1_CreateOptions, createOptions)
	if err != nil {
		return nil, err
	}
	sent, err := t.readSent(r, req, h, body)
	if err != nil {
		return nil, err
	}
	if err := t.admitAction(req.key(), h.kind, sent, w); err != nil {
		return nil, err
	}
	if h.check != nil {
		if err := h.check(sent, req.name, w.dryRun); err != nil {
			return nil, err
		}
	}
	v, err := t.read(req.key(), "")
	if err != nil {
		return nil, err
	}
	return h.do(r.Context(), v.obj, sent, w.dryRun)
}

func (t *table) putView(r *http.Request, req parsedRequest, h subresourceHook, body []byte) (metav1.Object, error) {
	w, err := readWrite(r, req, metav1.Convert_url_Values_To_v1_UpdateOptions, updateOptions)
	if err != nil {
		return nil, err
	}
	sent, err := t.readSent(r, req, h, body)
	if err != nil {
		return nil, err
	}
	if err := checkName(sent, req.name); err != nil {
		return nil, err
	}
	return t.changeByView(req, w, h, func(*revision, *scaling) (metav1.Object, error) {
		if sent == nil { // this is another attempt, and Mutate may have changed what was sent
			if sent, err = t.readSent(r, req, h, body); err != nil {
				return nil, err
			}
		}
		defer func() { sent = nil }()
		return sent, nil
	})
}

// readSent decodes the object in the body of a request for a subresource.
func (t *table) readSent(r *http.Request, req parsedRequest, h subresourceHook, body []byte) (metav1.Object, error) {
	format, err := wire.BodyFormat(r, h.protobuf)
	if err != nil {
		return nil, err
	}
	sent, err := t.decodeForm(h, format, body)
	if err == nil {
		err = validateFields(r, req, format, body, h.strictFaults, h.badBody)
	}
	switch {
	case err != nil && t.res.custom() && h.scales():
		// The API server does not find the name of the kind that it could not read.
		return nil, apierrors.NewBadRequest(`no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"`)
	case err != nil:
		return nil, err
	}
	return sent, t.settleNamespace(sent, req)
}

func (t *table) patchView(r *http.Request, req parsedRequest, h subresourceHook, body []byte) (metav1.Object, error) {
	contentType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	kind := types.PatchType(contentType)
	if err := t.checkPatchType(kind); err != nil {
		return nil, err
	}
	w, err := readWrite(r, req, metav1.Convert_url_Values_To_v1_PatchOptions, sentPatchOptions(kind))
	if err != nil {
		return nil, err
	}
	if kind == types.ApplyYAMLPatchType {
		if body, err = wire.YAMLToJSON(body); err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error encoding patch: %v", err))
		}
	}
	if !json.Valid(body) {
		return nil, apierrors.NewBadRequest("invalid JSON patch")
	}
	w.applies = kind == types.ApplyYAMLPatchType && t.ownedByForm(w)
	return t.changeByView(req, w, h, func(old *revision, owners *scaling) (metav1.Object, error) {
		sent, err := t.patchedForm(old, h, owners, kind, body, w)
		if err != nil {
			return nil, err
		}
		if sent.GetName() != "" { // a form need not have one
			if err := checkName(sent, req.name); err != nil {
				return nil, err
			}
		}
		return sent, t.settleNamespace(sent, req)
	})
}

// patchedForm returns the form of old as the patch changes it.
func (t *table) patchedForm(old *revision, h subresourceHook, owners *scaling, kind types.PatchType, body []byte, w write) (metav1.Object, error) {
	if w.applies {
		want, err := readApplied(body)
		switch {
		case err != nil:
			return nil, err
		case owners != nil:
			return owners.apply(want, w)
		}
		return t.applied(old, want, w)
	}
	now, err := h.start(old.obj)
	if err != nil {
		return nil, err
	}
	if owners != nil {
		now = owners.was
	}
	state, err := h.encode(now, false)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	b, err := patch.Apply(kind, state, body, h.fresh())
	if err != nil {
		return nil, err
	}
	if err := wire.UnmarshalJSON(b, h.fresh()); err != nil {
		return nil, errPatch(kind, body, b, h.fresh(), err)
	}
	if err := checkStrictPatch(kind, body, b, w, h.strictFaults, h.badBody); err != nil {
		return nil, err
	}
	return t.decodeForm(h, wire.JSON, b)
}

// changeByView writes the object after the hook has changed it to the form that next returns.
func (t *table) changeByView(req parsedRequest, w write, h subresourceHook, next func(*revision, *scaling) (metav1.Object, error)) (metav1.Object, error) {
	v, err := t.update(req.key(), w, func(old *revision) (obj metav1.Object, err error) {
		owners, err := t.scaling(old, h, w)
		if err != nil {
			return obj, err
		}
		sent, err := next(old, owners)
		if err != nil {
			return obj, err
		}
		if uid := sent.GetUID(); uid != "" && uid != old.obj.GetUID() {
			return obj, t.errOtherUID(old.key, uid, old.obj.GetUID(), w.dryRun)
		}
		if sent, err = t.noteForm(sent, old, owners, w); err != nil {
			return obj, err
		}
		entries := sent.GetManagedFields()
		if err := t.admitView(t.server.mutate, h, old, sent, w); err != nil {
			return obj, err
		}
		if err := t.checkRV(sent.GetResourceVersion(), old); err != nil {
			return obj, err
		}
		if obj, err = clone(old.obj); err != nil {
			return obj, apierrors.NewInternalError(err)
		}
		if err := h.set(obj, sent); err != nil {
			return obj, err
		}
		if owners != nil {
			err = owners.finish(obj, entries)
		} else if t.ownedByForm(w) {
			obj.SetManagedFields(entries)
		}
		if err != nil || t.server.validate == nil {
			return obj, err
		}
		now, err := h.get(obj)
		if err != nil {
			return obj, err
		}
		return obj, t.admitView(t.server.validate, h, old, now, w)
	})
	if err != nil {
		return nil, err
	}
	return h.get(v.obj)
}

// noteForm notes what w.manager owns by the form that it sent. An apply has noted that already.
func (t *table) noteForm(sent metav1.Object, old *revision, owners *scaling, w write) (metav1.Object, error) {
	switch {
	case w.applies || !t.ownedByForm(w):
		return sent, nil
	case owners != nil:
		return sent, owners.update(sent, w)
	case !t.tracks(sent, old, w) || t.hooks.subresources[w.subresource].scales():
		sent.SetManagedFields(old.obj.GetManagedFields())
		return sent, nil
	}
	return t.note(sent, old, w)
}

// admitView asks a hook of the server about an update by the form of an object. If h cannot show
// the old object, the old form is an empty one.
func (t *table) admitView(hook func(context.Context, *Admission) error, h subresourceHook, old *revision, form metav1.Object, w write) error {
	if hook == nil {
		return nil
	}
	was, err := h.get(old.obj)
	if err != nil {
		was = h.fresh()
		was.SetNamespace(old.key.Namespace)
		was.SetName(old.key.Name)
	}
	a := t.admission(faults.VerbUpdate, old.key, w)
	a.Kind, a.Object, a.Old = h.kind, form, was
	return t.refused(a, hook(w.request, a))
}
