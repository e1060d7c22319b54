package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Apply makes manager the owner of the fields of config, by a server-side apply
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/) that takes them over from
// other managers. Unlike [CreateOrUpdate], it leaves the server's defaults alone, and removes
// fields that an earlier config had. It returns the object as stored, and whether it sent a
// request.
//
// Current is the object as a cache or the server has it, or nil if there is none. Apply sends
// nothing if current's managed fields show that the server has the fields and values of config, and
// that manager owns no others. In doubt it sends: if current has no managed fields
// (client.Options.DropManagedFields), if config has a null or an empty object, if config states a
// resourceVersion, or if config states a value in another form than the server, such as the
// quantity 1000m for 1. If current is behind the server, the next call corrects what this one
// missed.
//
// Config is any value with the JSON form of a part of the object, including metadata.name: an apply
// configuration of client-go, a map[string]any, an *unstructured.Unstructured, or T if it omits
// unset fields. See client.Resource.Apply. C is a *[Handle] or a *client.Resource. Errors: [ErrInvalid], and the errors of c.
func Apply[T interface {
	comparable
	metav1.Object
}](ctx context.Context, c interface {
	Apply(ctx context.Context, config any, opts metav1.ApplyOptions) (T, error)
}, current T, config any, manager string) (_ T, sent bool, err error) {
	if manager == "" {
		return current, false, fmt.Errorf("controller: apply of a %T: %w", current, errNoManager)
	}
	var none T
	if current != none {
		done, err := hasApplied(current, config, manager)
		if err != nil || done {
			return current, false, err
		}
	}
	now, err := c.Apply(ctx, config, metav1.ApplyOptions{FieldManager: manager, Force: true})
	return now, true, err
}

// hasApplied reports whether an apply of config by manager would change nothing in current. The managed
// fields say which lists are owned by element and by which keys, so no schema is needed, and nothing has to
// be remembered over a restart.
func hasApplied(current metav1.Object, config any, manager string) (bool, error) {
	raw, err := json.Marshal(config)
	if err != nil {
		return false, fmt.Errorf("the config of an apply: %w", err)
	}
	want, err := decodeTree(raw)
	if err != nil {
		return false, fmt.Errorf("the config of an apply: %w", err)
	}
	version, plain := unname(want)
	entry := managedBy(current, manager)
	if !plain || hasNull(want) || entry == nil || version != "" && version != entry.APIVersion {
		return false, nil
	}
	owned, err := decodeTree(entry.FieldsV1.GetRawBytes())
	if err != nil {
		return false, nil
	}
	have, err := treeOf(current)
	if err != nil {
		return false, err
	}
	withoutNulls(have)
	return covered(owned, want, have), nil
}

// managedBy returns the fields that manager has applied, nil if there are none.
func managedBy(obj metav1.Object, manager string) *metav1.ManagedFieldsEntry {
	for _, e := range obj.GetManagedFields() {
		if e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "" && e.FieldsV1 != nil {
			return &e
		}
	}
	return nil
}

// unname removes from a config what names the object, which nobody owns, and returns the API
// version. It reports false if the config states what the object must be like.
func unname(config tree) (version string, plain bool) {
	version, _ = config["apiVersion"].(string)
	delete(config, "apiVersion")
	delete(config, "kind")
	meta, ok := config["metadata"].(tree)
	if !ok {
		return version, false
	}
	if meta["resourceVersion"] != nil || meta["uid"] != nil {
		return version, false
	}
	for _, name := range []string{"name", "namespace", "creationTimestamp", "uid", "resourceVersion"} {
		delete(meta, name)
	}
	if len(meta) == 0 {
		delete(config, "metadata")
	}
	return version, true
}

// withoutNulls removes the members of v that are null: the type of the object may show them for what
// the server does not have.
func withoutNulls(v any) {
	switch v := v.(type) {
	case tree:
		for name, member := range v {
			if member == nil {
				delete(v, name)
			} else {
				withoutNulls(member)
			}
		}
	case []any:
		for _, element := range v {
			withoutNulls(element)
		}
	}
}

// covered reports whether owned, a part of managed fields ([metav1.FieldsV1] has their form), has
// exactly the fields of want, and have the same values in them.
func covered(owned tree, want, have any) bool {
	parts := len(owned)
	if _, self := owned["."]; self {
		parts--
	}
	if parts == 0 { // owned as a whole
		return reflect.DeepEqual(want, have)
	}
	switch want := want.(type) {
	case tree:
		have, ok := have.(tree)
		return ok && len(want) == parts && coveredFields(owned, want, have)
	case []any:
		have, ok := have.([]any)
		return ok && len(want) == parts && coveredElements(owned, want, have)
	}
	return false
}

func coveredFields(owned, want, have tree) bool {
	for name, value := range want {
		part, ok := owned["f:"+name].(tree)
		if !ok || !covered(part, value, have[name]) {
			return false
		}
	}
	return true
}

// coveredElements compares a list whose elements have their own owners: each element of want must
// be one of the parts of owned, and the elements must be in have in the same order.
func coveredElements(owned tree, want, have []any) bool {
	at := 0
	for _, element := range want {
		name, part := partOf(owned, element)
		if part == nil {
			return false
		}
		for at < len(have) && !namesElement(name, have[at], false) {
			at++
		}
		if at == len(have) || !covered(part, element, have[at]) {
			return false
		}
		at++
	}
	return true
}

// partOf returns the part of owned that an element of a config is, nil if there is none or if it
// could be two.
func partOf(owned tree, element any) (name string, part tree) {
	for n, p := range owned {
		if n == "." || !namesElement(n, element, true) {
			continue
		}
		if part != nil {
			return "", nil
		}
		name = n
		if part, _ = p.(tree); part == nil {
			return "", nil
		}
	}
	return name, part
}

// namesElement reports whether a part of managed fields, such as v:"x" or k:{"name":"x"}, belongs to
// element. If loose is set, keys that element does not have count as equal, because the server may
// have set them by default.
func namesElement(name string, element any, loose bool) bool {
	if value, ok := strings.CutPrefix(name, "v:"); ok {
		var v any
		return decode([]byte(value), &v) == nil && reflect.DeepEqual(v, element)
	}
	text, ok := strings.CutPrefix(name, "k:")
	members, isTree := element.(tree)
	keys, err := decodeTree([]byte(text))
	if !ok || !isTree || err != nil {
		return false
	}
	for key, value := range keys {
		if member, has := members[key]; (has || !loose) && !reflect.DeepEqual(member, value) {
			return false
		}
	}
	return true
}
