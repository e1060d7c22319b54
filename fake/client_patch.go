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

// Patch changes the object at key by a patch of type pt and returns it as stored; see
// [Server.ServeHTTP] for the types. Status errors: NotFound, Conflict, Invalid,
// BadRequest, UnsupportedMediaType.
func (c *Client[T]) Patch(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (T, error) {
	return c.patch(ctx, key, pt, data, opts, false)
}

// PatchStatus patches the status subresource of the object at key, as [Client.Patch] patches an
// object. Status errors: those of Patch; NotFound also for a kind
// without the subresource (kind.Kind.WithSubresources).
func (c *Client[T]) PatchStatus(ctx context.Context, key types.NamespacedName, pt types.PatchType, data []byte, opts metav1.PatchOptions) (T, error) {
	return c.Subresource(statusField).Patch(ctx, key, pt, data, opts)
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
	return handOut[T](v, err)
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
		return key, nil, fmt.Errorf("fake: %s: the config of an apply is no object, but a %T", c.table().res.groupResource(), config)
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
		return key, nil, fmt.Errorf("fake: %s: the config of an apply: %w", c.table().res.groupResource(), reflector.ErrNoName)
	}
	data, err = json.Marshal(members)
	return key, data, err
}
