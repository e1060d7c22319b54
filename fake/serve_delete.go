package fake

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/answer"
	"github.com/kinform/kinform/fake/internal/wire"
)

// serveDelete answers with a Status. It answers with the object if something holds the object, and
// for some resources in any case.
func (t *table) serveDelete(w *answer.Writer, r *http.Request, key types.NamespacedName, body []byte, media wire.Media) error {
	opts, err := t.deleteOptions(r, body)
	if err != nil {
		return err
	}
	t.warnOfOrphans(w, opts)
	last, final, err := t.remove(key, opts, write{request: r.Context(), warn: w.Warn})
	if err != nil {
		return err
	}
	if ignoresReadErrors(opts) { // nobody knows what was deleted
		return w.Status(http.StatusOK, metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess, Code: http.StatusOK,
			Details: &metav1.StatusDetails{Name: key.Name, Kind: t.res.Kind},
		})
	}
	if final && isDryRun(opts.DryRun) && len(last.obj.GetFinalizers()) > 0 {
		// The finalizers of policies would go first. The API server answers with what its dry run has written of that: nothing.
		none := newObject(t.typ)
		if t.strategy != nil && t.strategy.Zero != nil {
			if none, err = t.strategy.Zero(); err != nil {
				return apierrors.NewInternalError(err)
			}
		}
		if err := t.setKind(none); err != nil {
			return err
		}
		return t.answer(w, http.StatusOK, &revision{key: key, obj: none, of: t}, media)
	}
	if !final || answersDeleted.hold(&t.res) {
		code := http.StatusOK
		//lint:ignore SA1019 the API server answers clients that still send it so
		if orphan := opts.OrphanDependents; orphan != nil && !*orphan && !final {
			code = http.StatusAccepted
		}
		if last, err = last.stated(); err != nil {
			return err
		}
		return t.answer(w, code, last, media)
	}
	return w.Status(http.StatusOK, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess,
		Details:  &metav1.StatusDetails{Name: key.Name, Group: t.res.Group, Kind: t.res.Name, UID: last.obj.GetUID()},
	})
}

// serveDeleteCollection answers with the list of the deleted objects.
func (t *table) serveDeleteCollection(w *answer.Writer, r *http.Request, req parsedRequest, body []byte, media wire.Media) error {
	list, err := readQuery(r, metav1.Convert_url_Values_To_v1_ListOptions)
	if err != nil {
		return err
	}
	m, err := t.matcher(Selection{Namespace: req.namespace}, list)
	if err != nil {
		return err
	}
	opts, err := t.deleteOptions(r, body)
	if err != nil {
		return err
	}
	t.warnOfOrphans(w, opts)
	p, err := t.removeAll(write{request: r.Context(), warn: w.Warn}, m, list, opts)
	if err != nil {
		return err
	}
	out, err := t.listBody(p, media)
	if err != nil {
		return err
	}
	return out.send(w, media, -1)
}

// warnOfOrphans warns a client that deletes jobs without a policy that their pods stay.
func (t *table) warnOfOrphans(w *answer.Writer, opts metav1.DeleteOptions) {
	//lint:ignore SA1019 the API server looks at it
	if jobs.hold(&t.res) && opts.PropagationPolicy == nil && opts.OrphanDependents == nil {
		w.Warn("child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning")
	}
}

// deleteOptions takes the options from the body or, if there is none, from the query.
func (t *table) deleteOptions(r *http.Request, body []byte) (opts metav1.DeleteOptions, err error) {
	if len(body) > 0 {
		err = readDeleteOptions(r, body, &opts)
	} else {
		opts, err = readQuery(r, metav1.Convert_url_Values_To_v1_DeleteOptions)
	}
	if err != nil {
		return opts, err
	}
	return opts, checkDeleteOptions(&opts)
}
