// Package manifest reads the objects of YAML and JSON files.
package manifest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kinform/kinform/fake/internal/wire"
	"github.com/kinform/kinform/internal/mistake"
)

// ErrInvalid says that a manifest does not parse, or that its kind cannot be loaded.
var ErrInvalid error = mistake.Text("invalid manifest")

// Read returns the objects of one file of fsys, or of all .yaml, .yml and .json files below a
// folder, by name. Errors: the errors of fsys, and [ErrInvalid].
func Read(fsys fs.FS, root string) ([]Object, error) {
	names, err := files(fsys, root)
	if err != nil {
		return nil, fmt.Errorf("fake: %w", err)
	}
	var all []Object
	for _, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("fake: %w", err)
		}
		found, err := Parse(name, text)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// Object is one object of a manifest.
type Object struct {
	File     string
	Document int // in the file, counted from 1
	Kind     schema.GroupVersionKind
	Body     []byte      // JSON
	UID      types.UID   // as the manifest states it
	Owners   []types.UID // the uids of its owner references
}

// Wrap says in which file and document err happened.
func (m Object) Wrap(err error) error {
	return fmt.Errorf("fake: %s: document %d: %w", m.File, m.Document, err)
}

// Invalid returns an [ErrInvalid] with its file and document.
func (m Object) Invalid(format string, args ...any) error {
	return m.Wrap(fmt.Errorf("%w: %w", ErrInvalid, fmt.Errorf(format, args...)))
}

// files lists the manifests at root, a file or a folder.
func files(fsys fs.FS, root string) ([]string, error) {
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

// Parse returns the objects of text, in their order. file stands for the file in errors. Error:
// [ErrInvalid].
func Parse(file string, text []byte) ([]Object, error) {
	var all []Object
	docs := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for number := 1; ; number++ {
		m := Object{File: file, Document: number}
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err == nil {
			m.Body, err = wire.YAMLToJSON(doc)
		}
		if err != nil {
			return nil, m.Invalid("%w", err)
		}
		found, err := m.objects()
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
}

// objects returns the object of a document, or the objects of a List, or none if the document holds
// only comments.
func (m Object) objects() ([]Object, error) {
	if string(m.Body) == "null" {
		return nil, nil
	}
	var head struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
		Metadata   json.RawMessage   `json:"metadata"`
	}
	if err := json.Unmarshal(m.Body, &head); err != nil {
		return nil, m.Invalid("%w", err)
	}
	if head.Kind == "" || head.APIVersion == "" {
		return nil, m.Invalid("no kind or no apiVersion")
	}
	if strings.HasSuffix(head.Kind, "List") && head.Items != nil {
		var all []Object
		for _, item := range head.Items {
			of := m
			of.Body = item
			found, err := of.objects()
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
		return all, nil
	}
	m.Kind = schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)
	m.relate(head.Metadata)
	return []Object{m}, nil
}

// relate reads the uids of the object and of its owners. Metadata that cannot be read is
// refused when the object is loaded.
func (m *Object) relate(metadata []byte) {
	var stated struct {
		UID             types.UID `json:"uid"`
		OwnerReferences []struct {
			UID types.UID `json:"uid"`
		} `json:"ownerReferences"`
	}
	if json.Unmarshal(metadata, &stated) != nil {
		return
	}
	m.UID = stated.UID
	for _, owner := range stated.OwnerReferences {
		m.Owners = append(m.Owners, owner.UID)
	}
}

// ownersFirst moves owners before the objects that refer to them, and keeps the order
// otherwise.
func ownersFirst(all []Object) []Object {
	byUID := map[types.UID]int{}
	for n, m := range all {
		if m.UID != "" {
			byUID[m.UID] = n
		}
	}
	ordered, met := make([]Object, 0, len(all)), make([]bool, len(all))
	var put func(n int)
	put = func(n int) {
		if met[n] {
			return
		}
		met[n] = true
		for _, uid := range all[n].Owners {
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

// Order sorts the objects for loading: namespaces and definitions of kinds first, and owners before
// the objects that refer to them by uid. Otherwise it keeps the order. It may reorder all itself.
func Order(all []Object) []Object {
	rank := func(m Object) int {
		if kind := m.Kind.GroupKind().String(); kind == "Namespace" || kind == "CustomResourceDefinition.apiextensions.k8s.io" {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b Object) int { return rank(a) - rank(b) })
	return ownersFirst(all)
}
