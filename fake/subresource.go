package fake

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/fake/internal/refusal"
	"github.com/kinform/kinform/reflector"
)

// Subresource reads and writes a part of objects that has its own address. It has the methods of
// client.Subresource. The fake has the subresource "status", of kinds that have it;
// the methods of others return the 404 that the HTTP form answers.
type Subresource[T metav1.Object] struct {
	of   *Client[T]
	path []string
}

// Subresource returns the client of a subresource; more names are further parts of the path.
func (c *Client[T]) Subresource(name string, more ...string) Subresource[T] {
	return Subresource[T]{of: c, path: append([]string{name}, more...)}
}

// check refuses a subresource that the resource does not have. As over HTTP, no fault strikes it.
func (s Subresource[T]) check() error {
	if len(s.path) != 1 || s.path[0] != statusField || !s.of.table().res.Status {
		return refusal.NoResource()
	}
	return nil
}

// Get returns a copy of the object at key, as [Client.Get] does.
func (s Subresource[T]) Get(ctx context.Context, key types.NamespacedName, opts metav1.GetOptions) (T, error) {
	if err := s.check(); err != nil {
		return *new(T), err
	}
	return s.of.get(ctx, key, opts, true)
}

// Create is always refused, because a status cannot be created. Status errors: NotFound,
// MethodNotAllowed.
func (s Subresource[T]) Create(ctx context.Context, object T, _ metav1.CreateOptions) (T, error) {
	if err := s.check(); err != nil {
		return *new(T), err
	}
	if ctx.Err() != nil {
		return *new(T), context.Cause(ctx)
	}
	return *new(T), s.of.table().errSubresourceCreate()
}

// Update writes to the subresource, as [Client.UpdateStatus] does.
func (s Subresource[T]) Update(ctx context.Context, object T, opts metav1.UpdateOptions) (T, error) {
	if err := s.check(); err != nil {
		return *new(T), err
	}
	return s.of.put(ctx, object, opts, true)
}

// Patch changes the subresource of the object at key as [Client.Patch] changes an object.
func (s Subresource[T]) Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (T, error) {
	if err := s.check(); err != nil {
		return *new(T), err
	}
	return s.of.patch(ctx, key, pt, data, opts, true)
}

// Apply applies config to the subresource as [Client.Apply] does to an object. It does not create
// the object.
func (s Subresource[T]) Apply(ctx context.Context, config any, opts metav1.ApplyOptions) (T, error) {
	if err := s.check(); err != nil {
		return *new(T), err
	}
	return s.of.apply(ctx, config, opts, true)
}

// Apply is a server-side apply of config, which is any value with the JSON form of a part of the
// object, including metadata.name. Apply sets the fields of config and makes opts.FieldManager,
// which is required, their manager. It returns the object as stored, and creates it if there is
// none. The namespace, kind and apiVersion may be left out. Status errors: Conflict if another
// manager has set a field to another value, unless opts.Force; Invalid, BadRequest;
// [reflector.ErrNoName] for a config without a name.
func (c *Client[T]) Apply(ctx context.Context, config any, opts metav1.ApplyOptions) (T, error) {
	return c.apply(ctx, config, opts, false)
}

func (c *Client[T]) apply(ctx context.Context, config any, opts metav1.ApplyOptions, status bool) (T, error) {
	key, data, err := c.readConfig(config)
	if err != nil {
		return *new(T), err
	}
	return c.patch(ctx, key, types.ApplyYAMLPatchType, data, opts.ToPatchOptions(), status)
}

// readConfig returns the key and the JSON of a config, with the kind completed.
func (c *Client[T]) readConfig(config any) (key types.NamespacedName, data []byte, err error) {
	defer refusal.Recover(&err)
	if data, err = json.Marshal(config); err != nil {
		return key, nil, err
	}
	var members map[string]any
	if err := utiljson.Unmarshal(data, &members); err != nil || members == nil {
		return key, nil, fmt.Errorf("fake: the config of an apply is no object, but a %T", config)
	}
	kind := c.table().res.typeMeta()
	for name, value := range map[string]string{"apiVersion": kind.APIVersion, "kind": kind.Kind} {
		if members[name] == nil || members[name] == "" {
			members[name] = value
		}
	}
	meta, _ := members["metadata"].(map[string]any)
	key.Namespace, _ = meta["namespace"].(string)
	if key.Name, _ = meta["name"].(string); key.Name == "" {
		return key, nil, reflector.ErrNoName
	}
	data, err = json.Marshal(members)
	return key, data, err
}

// patch is Patch, of the status subresource if status is set.
func (c *Client[T]) patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions, status bool) (obj T, err error) {
	if key, err = c.keyOf(key); err != nil {
		return obj, err
	}
	sent, err := c.begin(ctx, faults.VerbPatch, key, status)
	if err != nil {
		return obj, err
	}
	defer func() { sent.answer(err) }()
	w, err := patchOptions(ctx, pt, opts)
	if err != nil {
		return obj, err
	}
	w = w.at(status)
	w.manager = cmp.Or(w.manager, clientManager)
	v, created, err := c.table().patch(key, pt, data, w)
	sent.created = created
	return c.table().handOut(v, err)
}
