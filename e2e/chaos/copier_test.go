//go:build e2e

package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/e2e/beside"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// gadgetKind1 is the kind of gadgets for a controller.
var gadgetKind1 = kind.Of[*gadget](schema.GroupVersion{Group: group, Version: "v1"}, "gadgets").Named("Gadget").WithSubresources("status")

// DeepCopy makes copies for the controller.
func (g *gadget) DeepCopy() *gadget {
	c := *g
	c.ObjectMeta = *g.ObjectMeta.DeepCopy()
	return &c
}

// copier is a controller that copies the size of each gadget to the gadget's status and to a ConfigMap.
type copier struct {
	gadgets *controller.Handle[*gadget]
	maps    *controller.Handle[*corev1.ConfigMap]
	c       *controller.Controller[beside.Key]
	calls   atomic.Int64
	writes  atomic.Int64 // that were answered
	stop    func() error // returns what is wrong with it
}

// copies selects the ConfigMaps of the copier.
var copies = map[string]string{"chaos": "copy"}

// allowCopier gives the informers' user the rights that the copier has besides.
func allowCopier(ctx context.Context, server *oracle.Client) error {
	const api, name = "/apis/rbac.authorization.k8s.io/v1/", "copier"
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create", "patch", "delete"}},
		{APIGroups: []string{group}, Resources: []string{"gadgets/status"}, Verbs: []string{"patch"}},
	}}
	if _, err := oracle.Create(ctx, server, api+"clusterroles", role); err != nil {
		return err
	}
	_, err := oracle.Create(ctx, server, api+"clusterrolebindings", &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	})
	return err
}

// startCopier runs a copier. It gets all events, also those of its own writes.
func startCopier(ctx context.Context, conn client.Connection) *copier {
	c := &copier{}
	quiet := slog.New(slog.DiscardHandler)
	c.gadgets = controller.Open(conn, gadgetKind1, controller.OpenOptions[*gadget]{Informer: informer.Options[*gadget]{Logger: quiet}})
	c.maps = controller.Open(conn, core.ConfigMaps, controller.OpenOptions[*corev1.ConfigMap]{
		Client: client.Options{LabelSelector: "chaos=copy"}, Informer: informer.Options[*corev1.ConfigMap]{Logger: quiet},
	})
	c.c = controller.New("copier", c.reconcile, controller.Options[beside.Key]{
		OwnEvents: true, Logger: quiet, Run: queue.RunOptions{Workers: 4},
		Queue: queue.Options[beside.Key]{Limiter: queue.Exponential[beside.Key]{Max: time.Second}},
	})
	controller.For(c.c, c.gadgets)
	controller.Owns(c.c, c.gadgets, c.maps)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.c.Run(ctx) }()
	c.stop = func() error {
		cancel()
		defer conn.HTTP.CloseIdleConnections()
		if all := c.c.Loops(); len(all) > 0 {
			return errors.Join(<-ended, fmt.Errorf("%w: it is said to go in %d loops: %+v", errWrong, len(all), all))
		}
		return <-ended
	}
	return c
}

func (c *copier) reconcile(ctx context.Context, key beside.Key) error {
	c.calls.Add(1)
	g, found := c.gadgets.Cached(key)
	m, copied := c.maps.Cached(key)
	if !found {
		if !copied {
			return nil
		}
		return c.wrote(c.maps.Delete(ctx, key, metav1.DeleteOptions{}))
	}
	if !copiedGadget(key) {
		return nil
	}
	size := fmt.Sprint("size ", g.Spec.Size)
	if err := c.copy(ctx, g, m, size); err != nil || g.Status.Copied == size {
		return err
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": g.ResourceVersion}, "status": gadgetStatus{Copied: size, Sizes: g.Status.Sizes + 1},
	})
	if err != nil {
		return err
	}
	_, err = c.gadgets.PatchStatus(ctx, key, types.MergePatchType, patch, metav1.PatchOptions{})
	return c.wrote(err)
}

// copy makes the ConfigMap m, nil for none yet, have the size of a gadget.
func (c *copier) copy(ctx context.Context, g *gadget, m *corev1.ConfigMap, size string) error {
	key := beside.Key{Namespace: g.Namespace, Name: g.Name}
	if m == nil {
		m = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: g.Name, Labels: copies}, Data: map[string]string{"size": size}}
		if err := controller.SetController(m, g, gadgetKind1); err != nil {
			return err
		}
		_, err := c.maps.Create(ctx, m, metav1.CreateOptions{})
		return c.wrote(err)
	}
	if m.Data["size"] == size {
		return nil
	}
	_, err := c.maps.Patch(ctx, key, types.MergePatchType, fmt.Appendf(nil, `{"data":{"size":%q}}`, size), metav1.PatchOptions{})
	return c.wrote(err)
}

func (c *copier) wrote(err error) error {
	if err == nil {
		c.writes.Add(1)
	}
	return err
}

// copiedGadget reports whether the copier writes the gadget with that key. Those that stand still, and the marker, are
// not for it.
func copiedGadget(key beside.Key) bool {
	return !strings.HasPrefix(key.Name, "chaos-still-") && key.Name != markerName
}

// copied waits until all gadgets have what the copier writes. It writes nothing more then, until somebody else does: each
// write of a status is one of the version that the copier saw.
func (c *copier) copied(ctx context.Context, server *oracle.Client) error {
	ctx, cancel := context.WithTimeout(ctx, *chaosLimit)
	defer cancel()
	return oracle.Until(ctx, func() error {
		all, _, err := oracle.List[gadget](ctx, server, gadgets.Path("", ""), metav1.ListOptions{})
		for _, g := range all {
			key := beside.Key{Namespace: g.Namespace, Name: g.Name}
			if copiedGadget(key) && g.Status.Copied != fmt.Sprint("size ", g.Spec.Size) {
				running, waiting := c.c.KeyState(key)
				return fmt.Errorf("%w: the copier has not copied the size of %v, %d: %+v, %+v, %+v", errWrong, key, g.Spec.Size, g.Status, running, waiting)
			}
		}
		return err
	})
}
