package fake

import (
	"cmp"
	"fmt"
	"io/fs"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/manifest"
	"github.com/kinform/kinform/fake/internal/wire"
)

// Load creates the objects of manifests: of one file of fsys, or of all .yaml, .yml and
// .json files below a folder, by name.
//
//	err := server.Load(os.DirFS("testdata"), "manifests")
//
// A file holds documents of YAML, separated by lines of ---, or of JSON; a document holds an object
// or a List of objects. The kinds must be registered, or defined by a CustomResourceDefinition in
// these manifests (package with/apiextensions/fakecrd). Load can read the output of kubectl, so it
// differs from creates by the API: it keeps the status, puts an object of a namespaced kind without
// a namespace into "default", and leaves out the metadata that only a server can know
// (resourceVersion, uid and the like).
//
// Load creates namespaces and CustomResourceDefinitions first and then all other objects in order,
// except that owners come before the objects that refer to them by uid; the references get the new
// uids of the owners. It reads all files before it creates anything. A refusal ends the work and
// leaves the objects created so far.
//
// Errors name the file and the document, counted from 1: [ErrInvalid], the errors of fsys, and the
// Status errors of [Create].
func (s *Server) Load(fsys fs.FS, root string) error {
	all, err := manifest.Read(fsys, root)
	if err != nil {
		return err
	}
	return s.loadAll(all)
}

// LoadYAML is [Server.Load] for text. name stands for the file in errors.
func (s *Server) LoadYAML(name, text string) error {
	all, err := manifest.Parse(name, []byte(text))
	if err != nil {
		return err
	}
	return s.loadAll(all)
}

func (s *Server) loadAll(all []manifest.Object) error {
	uids := map[types.UID]types.UID{} // of the created objects, by the uids that the manifests state
	for _, m := range manifest.Order(all) {
		c := s.ofKind(m.Kind)
		if c == nil {
			return m.Invalid("%s: %w", m.Kind, ErrNotRegistered)
		}
		uid, err := c.load(m.Body, uids)
		if err != nil {
			return m.Wrap(err)
		}
		if m.UID != "" {
			uids[m.UID] = uid
		}
	}
	return nil
}

// load creates the object of a manifest, status included, and returns its uid. uids maps the uids
// that earlier manifests state to the uids of the created objects.
func (t *table) load(body []byte, uids map[types.UID]types.UID) (types.UID, error) {
	obj := newObject(t.typ)
	if err := wire.UnmarshalJSON(body, obj); err != nil {
		return "", fmt.Errorf("%w: %w", errManifest, err)
	}
	obj.SetResourceVersion("")
	obj.SetUID("")
	obj.SetManagedFields(nil)
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	if owners := obj.GetOwnerReferences(); len(owners) > 0 {
		for n, owner := range owners {
			owners[n].UID = cmp.Or(uids[owner.UID], owner.UID)
		}
		obj.SetOwnerReferences(owners)
	}
	if obj.GetNamespace() == "" && !t.res.ClusterScoped {
		obj.SetNamespace(metav1.NamespaceDefault)
	}
	own, err := clone(obj)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errManifest, err)
	}
	v, err := t.create(own, write{})
	if err != nil {
		return "", err
	}
	if t.res.Status {
		obj.SetName(v.key.Name)
		if _, _, err = t.replace(obj, write{subresource: statusField}); apierrors.IsNotFound(err) {
			err = nil // it was garbage, and has been collected
		}
	}
	return v.obj.GetUID(), err
}
