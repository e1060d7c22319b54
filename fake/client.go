package fake

import (
	"cmp"
	"context"
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/reflector"
)

// Client reads and writes for the code under test. It is a [Source] with methods that write, of the
// same shapes as those of client.Resource: the code can declare an interface of the few methods it
// needs, which both satisfy. Only Subresource returns a type of its own, with the same methods. A
// Client answers as the HTTP form does, with faults, options and refusals, but has neither sockets
// nor JSON. Like a client.Resource, it refuses a namespace for a cluster-scoped resource
// ([ErrScope]). The test itself writes with the typed functions, which no fault strikes.
//
// A write whose options name no FieldManager has the manager "kinform", as those of a
// client.Resource by default.
//
// It is safe for concurrent use and starts no goroutine. Make one with [NewClient].
type Client[T metav1.Object] struct {
	*Source[T]
}

// clientManager is the field manager of a [Client].
const clientManager = "kinform"

// NewClient returns a client of T's resource. sel is for List, Watch and Items, and its
// namespace also for keys and objects that name none. Errors: those of [NewSource].
func NewClient[T metav1.Object](at Target, sel Selection) (*Client[T], error) {
	s, err := NewSource[T](at, sel)
	if err != nil {
		return nil, err
	}
	return &Client[T]{s}, nil
}

// begin returns the error of a call that a fault or a done context ends. status says that the call
// is for the status subresource.
func (c *Client[T]) begin(ctx context.Context, verb faults.Verb, key types.NamespacedName, status bool) (call, error) {
	if ctx.Err() != nil {
		return call{}, context.Cause(ctx)
	}
	r := Request{Verb: verb, Resource: c.table().res.groupResource()}
	if status {
		r.Subresource = statusField
	}
	sent, _, err := c.table().server.call(ctx, r, key)
	return sent, broken(err)
}

// Get returns a copy of the object at key. Status errors: NotFound; Timeout for a
// resourceVersion that is yet to come.
func (c *Client[T]) Get(ctx context.Context, key types.NamespacedName, opts metav1.GetOptions) (T, error) {
	return c.get(ctx, key, opts, false)
}

func (c *Client[T]) get(ctx context.Context, key types.NamespacedName, opts metav1.GetOptions, status bool) (obj T, err error) {
	if key, err = c.keyOf(key); err != nil {
		return obj, err
	}
	sent, err := c.begin(ctx, faults.VerbGet, key, status)
	if err != nil {
		return obj, err
	}
	defer func() { sent.answer(err) }()
	return handOut[T](c.table().read(key, opts.ResourceVersion))
}

// Items reads the selection, all pages of it if opts.Limit is set. An error is the last
// pair. It can be used more than once, and lists each time.
func (c *Client[T]) Items(ctx context.Context, opts metav1.ListOptions) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		page := opts
		for {
			meta, err := c.List(ctx, page, func(ev reflector.Event[T], err error) bool { return yield(ev.Object, err) })
			if err == reflector.ErrListStopped {
				return
			}
			if err != nil {
				yield(*new(T), err)
				return
			}
			if page.Continue = meta.Continue; page.Continue == "" {
				return
			}
			page.ResourceVersion, page.ResourceVersionMatch = "", ""
		}
	}
}

// Create stores a copy of object and returns it as stored. Status errors: AlreadyExists,
// Invalid, BadRequest.
func (c *Client[T]) Create(ctx context.Context, object T, opts metav1.CreateOptions) (obj T, err error) {
	own, err := c.take(object)
	if err != nil {
		return own, err
	}
	sent, err := c.begin(ctx, faults.VerbCreate, keyFrom(own), false)
	if err != nil {
		return obj, err
	}
	defer func() { sent.answer(err) }()
	w, err := createOptions(ctx, opts)
	if err != nil {
		return obj, err
	}
	w.manager = cmp.Or(w.manager, clientManager)
	v, err := c.table().create(own, w)
	if err == nil {
		sent.key = keyFrom(v.obj)
	}
	return handOut[T](v, err)
}

// Update replaces the object of object's name and returns it as stored, as the function
// [Update] does. Status errors: NotFound, Conflict, Invalid, BadRequest.
func (c *Client[T]) Update(ctx context.Context, object T, opts metav1.UpdateOptions) (T, error) {
	return c.put(ctx, object, opts, false)
}

// UpdateStatus writes to the status subresource, as the function [UpdateStatus] does. Status
// errors: those of Update; NotFound also for a resource without that subresource.
func (c *Client[T]) UpdateStatus(ctx context.Context, object T, opts metav1.UpdateOptions) (T, error) {
	return c.Subresource(statusField).Update(ctx, object, opts)
}

func (c *Client[T]) put(ctx context.Context, object T, opts metav1.UpdateOptions, status bool) (obj T, err error) {
	own, err := c.take(object)
	if err != nil {
		return own, err
	}
	sent, err := c.begin(ctx, faults.VerbUpdate, keyFrom(own), status)
	if err != nil {
		return obj, err
	}
	defer func() { sent.answer(err) }()
	w, err := updateOptions(ctx, opts)
	if err != nil {
		return obj, err
	}
	w = w.at(status)
	w.manager = cmp.Or(w.manager, clientManager)
	v, created, err := c.table().replace(own, w)
	sent.created = created
	return handOut[T](v, err)
}

// Delete deletes the object at key, or marks it as being deleted while it has finalizers or, if it
// is a pod of a node, until it is deleted without a grace period (see [Options].StopPods).
// Status errors: NotFound, Invalid; Conflict for preconditions that do not hold.
func (c *Client[T]) Delete(ctx context.Context, key types.NamespacedName, opts metav1.DeleteOptions) (err error) {
	if key, err = c.keyOf(key); err != nil {
		return err
	}
	sent, err := c.begin(ctx, faults.VerbDelete, key, false)
	if err != nil {
		return err
	}
	defer func() { sent.answer(err) }()
	if err := checkDeleteOptions(&opts); err != nil {
		return err
	}
	_, _, err = c.table().remove(key, opts, write{request: ctx})
	return err
}

// DeleteCollection deletes the objects that List would list. Status errors: those of List
// and Delete.
func (c *Client[T]) DeleteCollection(ctx context.Context, opts metav1.DeleteOptions, list metav1.ListOptions) (err error) {
	sent, err := c.begin(ctx, faults.VerbDeleteCollection, types.NamespacedName{Namespace: c.sel.Namespace}, false)
	if err != nil {
		return err
	}
	defer func() { sent.answer(err) }()
	m, err := c.table().matcher(c.sel, list)
	if err != nil {
		return err
	}
	if err := checkDeleteOptions(&opts); err != nil {
		return err
	}
	_, err = c.table().removeAll(ctx, m, list, opts)
	return err
}

// keyOf returns key with the namespace of the selection if it has none.
func (c *Client[T]) keyOf(key types.NamespacedName) (types.NamespacedName, error) {
	if key.Namespace == "" {
		key.Namespace = c.sel.Namespace
	}
	return key, c.table().checkScope(key.Namespace)
}

// take returns a copy of an object that the caller passes in, with the selection's namespace if it
// has none.
func (c *Client[T]) take(object T) (T, error) {
	own, err := c.table().own(object)
	if err == nil {
		err = c.table().checkScope(own.GetNamespace())
	}
	if err == nil && own.GetNamespace() == "" && !c.table().res.ClusterScoped {
		own.SetNamespace(c.sel.Namespace)
	}
	return typed[T](own), err
}
