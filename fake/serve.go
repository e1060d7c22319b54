package fake

import (
	"context"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/fake/internal/answer"
	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/fake/internal/wire"
)

// serve answers a request for the resource or for one of its objects.
func (t *table) serve(w *answer.Writer, r *http.Request, req parsedRequest) error {
	req.warn = w.Warn
	if t.deprecated != "" {
		w.Warn(t.deprecated)
	}
	opts, verb, err := t.verbOf(r, req)
	if err != nil {
		return err
	}
	if req.subresource == "" && !slices.Contains(t.res.verbs(), string(verb)) {
		return t.errVerb(req)
	}
	about := Request{verb, t.res.groupResource(), req.subresource}
	t.server.watchAnswer(w, r, &req, about)
	f, err := t.server.receive(r.Context(), about, true)
	if err != nil {
		return err
	}
	if f != nil {
		w.Cut = f.CutBytes
	}
	media, err := t.offer(r, req, verb).Negotiate(r)
	if err != nil {
		return err
	}
	w.Protobuf = media.Protobuf
	if hook, ok := t.hooks.subresources[req.subresource]; ok {
		return t.serveSubresource(w, r, req, verb, hook)
	}
	switch verb {
	case faults.VerbList:
		return t.serveList(r.Context(), w, req, opts, media, f)
	case faults.VerbWatch:
		return t.serveWatch(w, r, req, opts, media, f)
	case faults.VerbGet:
		return t.serveGet(w, req, opts, media)
	}
	body, err := readBody(r)
	if err != nil {
		return err
	}
	return t.serveWrite(w, r, req, verb, body, media)
}

// offer returns the forms of an answer.
func (t *table) offer(r *http.Request, req parsedRequest, verb faults.Verb) wire.Offer {
	return wire.Offer{
		Protobuf: t.protobuf, Custom: t.res.custom(), Lean: !t.server.lacks.dropping, Watch: verb == faults.VerbWatch, Collection: r.Method == http.MethodGet && req.name == "",
	}
}

// verbOf returns the verb of a request and, for reads, its options. It refuses requests that the
// resource does not take.
func (t *table) verbOf(r *http.Request, req parsedRequest) (opts metav1.ListOptions, verb faults.Verb, err error) {
	collection, writable := req.name == "", req.namespace != "" || t.res.ClusterScoped
	switch {
	case r.Method == http.MethodGet:
		opts, err = readQuery(r, metav1.Convert_url_Values_To_v1_ListOptions)
		switch {
		case err != nil:
			return opts, "", err
		case req.watch:
			if !collection {
				opts.FieldSelector = strings.Trim(opts.FieldSelector+",metadata.name="+req.name, ",")
			}
			return opts, faults.VerbWatch, nil
		case !collection:
			return opts, faults.VerbGet, nil
		case opts.Watch:
			return opts, faults.VerbWatch, nil
		}
		return opts, faults.VerbList, nil
	case req.watch:
		return opts, "", refusal.Method()
	case r.Method == http.MethodPost && req.subresource == "" && writable && (collection || t.res.custom()):
		// The path of a custom resource may name the object, which only the body decides.
		return opts, faults.VerbCreate, nil
	case r.Method == http.MethodPut && !collection:
		return opts, faults.VerbUpdate, nil
	case r.Method == http.MethodPatch && !collection:
		return opts, faults.VerbPatch, nil
	case r.Method == http.MethodPost && req.subresource != "":
		if t.hooks.subresources[req.subresource].do != nil {
			return opts, faults.VerbCreate, nil
		}
		return opts, "", t.errSubresourceCreate()
	case req.subresource != "":
		return opts, "", refusal.Method()
	case r.Method == http.MethodDelete && !collection:
		return opts, faults.VerbDelete, nil
	case r.Method == http.MethodDelete && writable:
		return opts, faults.VerbDeleteCollection, nil
	}
	return opts, "", t.errVerb(req)
}

// errVerb refuses a request for the resource or for an object because the resource lacks the verb. A
// path that none of its verbs has does not exist.
func (t *table) errVerb(req parsedRequest) error {
	verbs := []string{"create", "deletecollection", "list", "watch"}
	switch {
	case req.name != "":
		verbs = []string{"delete", "get", "patch", "update"}
	case req.namespace == "" && !t.res.ClusterScoped:
		verbs = []string{"list", "watch"}
	}
	if !slices.ContainsFunc(verbs, func(verb string) bool { return slices.Contains(t.res.verbs(), verb) }) {
		return refusal.NoResource()
	}
	return refusal.Method()
}

// errSubresourceCreate is the 405 of a create at the path of a status.
func (t *table) errSubresourceCreate() error {
	if t.res.custom() {
		return apierrors.NewMethodNotSupported(t.res.groupResource(), "create")
	}
	return refusal.Method()
}

func (t *table) serveGet(w *answer.Writer, req parsedRequest, opts metav1.ListOptions, media wire.Media) error {
	v, err := t.read(req.key(), opts.ResourceVersion)
	if err != nil {
		return err
	}
	b, err := t.body(v, media)
	if err != nil {
		return err
	}
	return w.Bytes(http.StatusOK, media.ContentType(), b)
}

// serveList writes a list object by object. It encodes all objects before it sends the first
// byte, so an object that cannot be encoded gives a Status and not a broken answer.
func (t *table) serveList(ctx context.Context, w *answer.Writer, req parsedRequest, opts metav1.ListOptions, media wire.Media, f *faults.Fault) error {
	m, err := t.matcher(Selection{Namespace: req.namespace}, opts)
	if err != nil {
		return err
	}
	q, err := t.listRequest(opts)
	if err != nil {
		return err
	}
	if opts.ResourceVersion == "" && opts.Continue == "" {
		t.awaitProgress(ctx)
	}
	p, err := t.list(m, q)
	if err != nil {
		return err
	}
	body, err := t.listBody(p, media)
	if err != nil {
		return err
	}
	return body.send(w, media, cutAfter(f))
}
