package fake

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kinform/kinform/fake/internal/wire"
)

// Load creates the objects of manifests: of one file of fsys, or of all .yaml, .yml and
// .json files below a folder, by name.
//
//	err := server.Load(os.DirFS("testdata"), "manifests")
//
// A file holds documents of YAML, separated by lines of ---, or of JSON; a document holds
// an object or a List of them. Kinds are those that are registered. Unlike creates by the
// API, a status is kept, an object of a namespaced kind without a namespace goes to
// "default", and what only a server can know (resourceVersion, uid and the like) is left
// out; so that what kubectl printed can be loaded. Namespaces are created first, then all
// else in order, but owners before what refers to them by uid; the references get the uids
// that the owners have here. All files are read before anything is created; a refusal ends
// the work and leaves what was created before.
//
// Errors name the file and the document, counted from 1: [ErrManifest], those of fsys,
// and the Status errors of [Create].
func (s *Server) Load(fsys fs.FS, root string) error {
	files, err := manifestFiles(fsys, root)
	if err != nil {
		return fmt.Errorf("fake: %w", err)
	}
	var all []manifest
	for _, file := range files {
		text, err := fs.ReadFile(fsys, file)
		if err != nil {
			return fmt.Errorf("fake: %w", err)
		}
		read, err := readManifests(file, text)
		if err != nil {
			return err
		}
		all = append(all, read...)
	}
	return s.loadAll(all)
}

// LoadYAML is [Server.Load] for text. name stands for the file in errors.
func (s *Server) LoadYAML(name, text string) error {
	all, err := readManifests(name, []byte(text))
	if err != nil {
		return err
	}
	return s.loadAll(all)
}

// manifest is one object, as JSON.
type manifest struct {
	file     string
	document int
	kind     schema.GroupVersionKind
	body     []byte
	uid      types.UID   // as stated
	owners   []types.UID // the same of those that it refers to
}

func (m manifest) wrap(err error) error {
	return fmt.Errorf("fake: %s: document %d: %w", m.file, m.document, err)
}

func (m manifest) invalid(format string, args ...any) error {
	return m.wrap(fmt.Errorf("%w: %w", ErrManifest, fmt.Errorf(format, args...)))
}

func manifestFiles(fsys fs.FS, root string) ([]string, error) {
	info, err := fs.Stat(fsys, root)
	if err != nil || !info.IsDir() {
		return []string{root}, err
	}
	var files []string
	err = fs.WalkDir(fsys, root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)) {
			files = append(files, name)
		}
		return err
	})
	return files, err
}

func readManifests(file string, text []byte) ([]manifest, error) {
	var all []manifest
	docs := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for number := 1; ; number++ {
		m := manifest{file: file, document: number}
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err == nil {
			m.body, err = wire.YAMLToJSON(doc)
		}
		if err != nil {
			return nil, m.invalid("%w", err)
		}
		found, err := m.objects()
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
}

// objects returns the object of a document, those of a List, or none where there is
// nothing but comments.
func (m manifest) objects() ([]manifest, error) {
	if string(m.body) == "null" {
		return nil, nil
	}
	var head struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
		Metadata   json.RawMessage   `json:"metadata"`
	}
	if err := json.Unmarshal(m.body, &head); err != nil {
		return nil, m.invalid("%w", err)
	}
	if head.Kind == "" || head.APIVersion == "" {
		return nil, m.invalid("no kind or no apiVersion")
	}
	if strings.HasSuffix(head.Kind, "List") && head.Items != nil {
		var all []manifest
		for _, item := range head.Items {
			of := m
			of.body = item
			found, err := of.objects()
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
		return all, nil
	}
	m.kind = schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)
	m.relate(head.Metadata)
	return []manifest{m}, nil
}

// relate notes who the object is and who owns it. Metadata that cannot be read is refused
// when it is loaded.
func (m *manifest) relate(metadata []byte) {
	var stated struct {
		UID             types.UID `json:"uid"`
		OwnerReferences []struct {
			UID types.UID `json:"uid"`
		} `json:"ownerReferences"`
	}
	if json.Unmarshal(metadata, &stated) != nil {
		return
	}
	m.uid = stated.UID
	for _, owner := range stated.OwnerReferences {
		m.owners = append(m.owners, owner.UID)
	}
}

// ownersFirst brings owners before what they own, and leaves the order as it is otherwise.
func ownersFirst(all []manifest) []manifest {
	byUID := map[types.UID]int{}
	for n, m := range all {
		if m.uid != "" {
			byUID[m.uid] = n
		}
	}
	ordered, met := make([]manifest, 0, len(all)), make([]bool, len(all))
	var put func(n int)
	put = func(n int) {
		if met[n] {
			return
		}
		met[n] = true
		for _, uid := range all[n].owners {
			if owner, ok := byUID[uid]; ok {
				put(owner)
			}
		}
		ordered = append(ordered, all[n])
	}
	for n := range all {
		put(n)
	}
	return ordered
}

func (s *Server) loadAll(all []manifest) error {
	isNamespace := func(m manifest) bool { return m.kind.Kind == "Namespace" && m.kind.Group == "" }
	slices.SortStableFunc(all, func(a, b manifest) int {
		switch {
		case isNamespace(a) && !isNamespace(b):
			return -1
		case isNamespace(b) && !isNamespace(a):
			return 1
		}
		return 0
	})
	uids := map[types.UID]types.UID{} // of what was created, by what the manifest states
	for _, m := range ownersFirst(all) {
		c := s.ofKind(m.kind)
		if c == nil {
			return m.invalid("%s: %w", m.kind, ErrNotRegistered)
		}
		uid, err := c.load(m.body, uids)
		if err != nil {
			return m.wrap(err)
		}
		if m.uid != "" {
			uids[m.uid] = uid
		}
	}
	return nil
}

func (s *Server) ofKind(kind schema.GroupVersionKind) collection {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.order {
		if c.info().GroupVersionKind() == kind {
			return c
		}
	}
	return nil
}

func (t *table[T]) load(body []byte, uids map[types.UID]types.UID) (types.UID, error) {
	obj := t.newObject()
	if err := wire.UnmarshalJSON(body, obj); err != nil {
		return "", fmt.Errorf("%w: %w", ErrManifest, err)
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
	own, err := t.clone(obj)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrManifest, err)
	}
	v, err := t.create(own, write{})
	if err != nil {
		return "", err
	}
	if t.res.Status {
		obj.SetName(v.key.Name)
		if _, err = t.replace(obj, write{status: true}); apierrors.IsNotFound(err) {
			err = nil // it was garbage, and has been collected
		}
	}
	return v.obj.GetUID(), err
}
