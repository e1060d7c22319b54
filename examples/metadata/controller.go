// Package metadata gives each Secret the label "team" of its namespace. It reads the metadata of Secrets and
// no more: their contents never leave the server.
package metadata

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// Label is the label that the controller copies. The controller undoes a change of it that was made to a Secret by hand.
const Label = "example.com/team"

type object = *metav1.PartialObjectMetadata

// Run works on all Secrets of a server until ctx is done.
func Run(ctx context.Context, server client.Connection) error {
	namespaces := kinform.Open(server, kind.As[object](core.Namespaces))
	secrets := kinform.Open(server, kind.As[object](core.Secrets), controller.OpenOptions[object]{
		Client: client.Options{DropManagedFields: true}, // they would be most of what is left
	})
	secretsIn := func(keys []kinform.Key, namespace object) []kinform.Key {
		for _, secret := range secrets.List(namespace.Name, nil) {
			keys = append(keys, kinform.Key{Namespace: secret.Namespace, Name: secret.Name})
		}
		return keys
	}
	c := controller.New("team labels", func(ctx context.Context, key kinform.Key) error {
		namespace, there := namespaces.Cached(kinform.Key{Name: key.Namespace})
		secret, ok := secrets.Cached(key)
		if !there || !ok || secret.DeletionTimestamp != nil {
			return nil
		}
		team, wanted := namespace.Labels[Label]
		if has, is := secret.Labels[Label]; has == team && is == wanted {
			return nil
		}
		_, err := secrets.Patch(ctx, key, types.MergePatchType, patch(team, wanted), metav1.PatchOptions{})
		return controller.IgnoreNotFound(err)
	})
	controller.For(c, secrets, controller.LabelsChanged)
	controller.Watch(c, namespaces, secretsIn, controller.LabelsChanged)
	return manager.Run(ctx, c)
}

// patch returns a merge patch that sets the label, or removes it.
func patch(team string, wanted bool) []byte {
	var value any // null removes
	if wanted {
		value = team
	}
	data, _ := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{Label: value}}}) // never fails for strings
	return data
}
