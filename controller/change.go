package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/reflector"
)

// change is one change of an object, and how to carry it out.
type change[T Object[T]] struct {
	client Client[T]
	// edit changes a copy of the object. It is called again for each state that is found.
	edit func(T) error
	// status says that edit only changes the status.
	status bool
	// known says for some structs whether the server has them: see patchOf.
	known map[string]bool
}

// to carries the change out, if it changes anything, and returns obj as stored. On an error it
// returns the newest state that it knows; the error is errGone if the object is gone.
//
// The patch has only what changed, even in lists, so what T does not have survives. It states the
// resourceVersion, so it never undoes a change of another writer that edit has not seen.
func (c change[T]) to(ctx context.Context, obj T) (_ T, changed bool, err error) {
	c.known = map[string]bool{}
	for try := range tries {
		var p patch
		if p, err = c.patch(obj); err != nil || p.data == nil {
			return obj, false, err
		}
		var now T
		if now, err = send(ctx, c, keyOf(obj), p); err == nil {
			return now, true, nil
		}
		if c.status && apierrors.IsNotFound(err) {
			return obj, false, withoutStatus(ctx, c, obj, err)
		}
		misfit := p.form == types.JSONPatchType && misfits(err)
		if !apierrors.IsConflict(err) && !misfit {
			if apierrors.IsNotFound(err) {
				err = errGone
			}
			return obj, false, err
		}
		now, failed := newest(ctx, c.client, obj)
		if failed != nil {
			return obj, false, failed
		}
		switch {
		case now.GetResourceVersion() != obj.GetResourceVersion():
			if misfit {
				err = conflict(obj, err)
			}
			clear(c.known)
		case !misfit:
		case len(p.guesses) == 0 && try > 0: // obj is what the server has, and not what a cache has
			return obj, false, err
		case len(p.guesses) > maxGuesses:
			return obj, false, about(obj, fmt.Errorf("%w: %d structs in lists are zero, and the server may have them or not: make their fields pointers", err, len(p.guesses)))
		default:
			if failed := c.learn(ctx, obj, p.guesses); failed != nil {
				return obj, false, failed
			}
		}
		obj = now
	}
	return obj, false, err
}

// maxGuesses bounds the requests of learn.
const maxGuesses = 100

// misfits reports whether err says that a JSON patch does not fit the object. API servers give the
// same answer for a test that fails, such as the test of the version, and for a path that is not
// there.
func misfits(err error) bool {
	var refusal apierrors.APIStatus
	if !errors.As(err, &refusal) {
		return false
	}
	s := refusal.Status()
	return s.Code == http.StatusUnprocessableEntity && (s.Details == nil || len(s.Details.Causes) == 0)
}

// conflict is the error of a patch that does not fit because obj was changed.
func conflict(obj metav1.Object, err error) error {
	kind := ownKind(obj)
	return apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, obj.GetName(), fmt.Errorf("the object has changed: %w", err))
}

// learn asks the server which of the structs that a patch of obj guesses it has, by patches that
// change nothing.
func (c change[T]) learn(ctx context.Context, obj T, guesses []jsonPointer) error {
	for _, at := range guesses {
		data, err := json.Marshal([]step{testVersion(obj.GetResourceVersion()), {Op: "test", Path: at, Value: null}})
		if err != nil {
			return err
		}
		_, err = send(ctx, c, keyOf(obj), patch{form: types.JSONPatchType, data: data})
		if err != nil && !misfits(err) {
			return err
		}
		c.known[at.String()] = err != nil
	}
	return nil
}

// withoutStatus returns the error of a status that was not found. API servers give the same answer
// for an object that is gone and for a kind that has no status subresource.
func withoutStatus[T Object[T]](ctx context.Context, c change[T], obj T, err error) error {
	if _, failed := newest(ctx, c.client, obj); failed != nil {
		return failed
	}
	return about(obj, fmt.Errorf("%w: %w", errNoStatus, err))
}

func send[T Object[T]](ctx context.Context, c change[T], key types.NamespacedName, p patch) (T, error) {
	if c.status {
		return c.client.PatchStatus(ctx, key, p.form, p.data, metav1.PatchOptions{})
	}
	return c.client.Patch(ctx, key, p.form, p.data, metav1.PatchOptions{})
}

// patch returns a patch with the changes that edit makes to a copy of obj, without data if it makes
// none.
func (c change[T]) patch(obj T) (p patch, err error) {
	version := obj.GetResourceVersion()
	if version == "" {
		return p, about(obj, errNotRead)
	}
	next := obj.DeepCopy()
	if err := c.edit(next); err != nil {
		return p, err
	}
	if keyOf(next) != keyOf(obj) || next.GetUID() != obj.GetUID() {
		return p, about(obj, errRenamed)
	}
	next.SetResourceVersion(version)
	before, after, err := treesOf(obj, next)
	if err != nil {
		return p, about(obj, err)
	}
	if before == nil {
		return p, nil
	}
	if c.status {
		if err := goodStatus(reflect.TypeOf(obj), before, after); err != nil {
			return p, about(obj, err)
		}
	}
	return patchOf(reflect.TypeOf(obj), before, after, version, c.known)
}

// goodStatus returns an error if anything but the status of a t changes, or if a condition is not complete.
func goodStatus(t reflect.Type, before, after tree) error {
	for _, fields := range []tree{before, after} {
		for field := range fields {
			if field != "status" && !isSame(before[field], after[field]) {
				return fmt.Errorf("%w: %s", errNotStatus, field)
			}
		}
	}
	return goodConditions(t, before, after)
}

// PatchStatus calls edit for a copy of obj, and writes the status if edit changed it. It returns
// the object as stored, or obj if it sent nothing. With an error, it returns the newest state that
// it knows, which is never nil unless obj is. obj must come from the server or a cache; it is not
// changed.
//
// If the object was changed meanwhile, PatchStatus reads it from c and calls edit again for the new
// state, so edit may be called several times. It should only set what reconcile found out: take the
// generation that a condition was observed at from reconcile's object, see [SetCondition].
//
// If the object is gone, there is no status to write, and the error is nil. Other errors:
// [ErrInvalid], also for a nil object, if edit changes anything else, and if it leaves a condition in status.conditions
// without Type, Status or Reason; and the errors of c, a Conflict only after five in a row.
func PatchStatus[T Object[T]](ctx context.Context, c Client[T], obj T, edit func(T)) (T, error) {
	if mistake.IsNil(obj) {
		return obj, noObject("PatchStatus", obj)
	}
	if edit == nil {
		return obj, about(obj, errNoEdit)
	}
	now, _, err := change[T]{client: c, status: true, edit: func(o T) error { edit(o); return nil }}.to(ctx, obj)
	if errors.Is(err, errGone) {
		err = nil
	}
	return now, err
}

// Outcome says what CreateOrUpdate did.
type Outcome uint8

// The outcomes of [CreateOrUpdate].
const (
	// Unchanged means that nothing was written. The object may be new: the answer to the creation by an earlier
	// call can be lost, so nothing may depend on Created alone.
	Unchanged Outcome = iota
	// Created means that the object was created.
	Created
	// Updated means that the object was changed.
	Updated
)

// String returns the name in lower case.
func (o Outcome) String() string {
	switch o {
	case Created:
		return "created"
	case Updated:
		return "updated"
	}
	return "unchanged"
}

// CreateOrUpdate makes sure that an object is as edit wants it. It reads the object with the
// namespace and name of obj, calls edit for a copy, and writes the fields that edit changed. If there
// is no such object, it calls edit for a copy of obj, and creates that. It returns the object as
// stored or, with an error, the newest state that it knows, or obj. Treat the result as read-only: it
// may come from a cache.
//
// If c is a [Handle], CreateOrUpdate reads the object from its cache, which has the handle's own
// writes, so it sends nothing if nothing changes. The cache may be behind other writers. Their events
// queue the key again if the controller watches the handle ([Owns]). If the cache does not have the
// object, CreateOrUpdate asks the server first if the handle has a label or field selector, which may
// hide the object, or has not listed yet. For any other c it asks the server in each call.
//
// It sends no write if edit changes nothing in the object's JSON. So edit should set single fields. A
// whole struct such as a PodSpec overwrites the defaults that the server has set, and is written in
// every call. If you need that, use [Apply]. The same is true of a list: edit the element in it, as the
// package documentation says. Edit must not set the status.
//
// If the object was changed, created or deleted meanwhile, CreateOrUpdate reads it from the server and
// calls edit for the new state, so edit may be called several times. An error of edit ends it without a
// write; [SetController] returns one if somebody else has made the object. Other errors: [ErrInvalid],
// [ErrInvalid] for a nil object, [reflector.ErrNoName], and the errors of c, a Conflict or AlreadyExists only after
// five in a row.
//
// # Null
//
// Null is a value, here and in [PatchStatus]. An edit can set it inside a field of any form, such
// as a map[string]any, a json.RawMessage or a runtime.RawExtension, and remove it there. Only a
// json.RawMessage with omitempty can also be null as a whole: the other types do not tell null from
// a missing field. A pointer without omitempty that an edit sets to nil becomes null. A new element
// of a list has the nulls that your type shows.
//
// A field that your type shows as null because the server does not have it is no change, even if the
// edit sets another field of a struct that the server does not have. So if a null is required in a new
// struct without a pointer, the server refuses the struct: give your type a pointer to it.
//
// In objects of a CustomResourceDefinition, the server keeps null in nullable fields and in fields
// without a schema. It removes null from other fields, or puts the default there.
//
// # Patches
//
// CreateOrUpdate and PatchStatus send patches. A change outside of lists is a merge patch. So is a
// change of a list of which no element stays, or only scalars: the patch sets the whole list. A
// change of any other list is a JSON patch, and so is one that sets a null, which a merge patch
// cannot do. If your type has a struct without a pointer that was zero, and a JSON patch sets a
// field of it, the server may lack the struct. Then one more request for each such struct finds
// out. API servers refuse a JSON patch with more than 10,000 changes.
func CreateOrUpdate[T Object[T]](ctx context.Context, c Client[T], obj T, edit func(T) error) (T, Outcome, error) {
	if mistake.IsNil(obj) {
		return obj, Unchanged, noObject("CreateOrUpdate", obj)
	}
	if edit == nil {
		return obj, Unchanged, about(obj, errNoEdit)
	}
	if obj.GetName() == "" {
		return obj, Unchanged, about(obj, reflector.ErrNoName)
	}
	now, found, err := firstState(ctx, c, keyOf(obj))
	for try := range tries {
		if try > 0 {
			now, found, err = ask(ctx, c, keyOf(obj))
		}
		if err == nil && !found {
			if now, err = createEdited(ctx, c, obj, edit); err == nil {
				return now, Created, nil
			}
			if !apierrors.IsAlreadyExists(err) {
				return obj, Unchanged, err
			}
			continue
		}
		if err != nil {
			return obj, Unchanged, err
		}
		now, changed, failed := change[T]{client: c, edit: edit}.to(ctx, now)
		switch {
		case failed == nil && changed:
			return now, Updated, nil
		case !errors.Is(failed, errGone):
			return now, Unchanged, failed
		}
		err = failed
	}
	return obj, Unchanged, err
}

// firstState reads an object where that is cheapest. It may be older than the server's.
func firstState[T Object[T]](ctx context.Context, c Client[T], key types.NamespacedName) (obj T, found bool, err error) {
	if h, ok := c.(interface {
		current(key types.NamespacedName) (obj T, found, sure bool)
	}); ok {
		if obj, found, sure := h.current(key); found || sure {
			return obj, found, nil
		}
	}
	return ask(ctx, c, key)
}

// ask reads an object from the server.
func ask[T Object[T]](ctx context.Context, c Client[T], key types.NamespacedName) (obj T, found bool, err error) {
	obj, err = c.Get(ctx, key, metav1.GetOptions{})
	return obj, err == nil, IgnoreNotFound(err)
}

// createEdited creates the object that edit makes from obj.
func createEdited[T Object[T]](ctx context.Context, c Client[T], obj T, edit func(T) error) (T, error) {
	next := obj.DeepCopy()
	if err := edit(next); err != nil {
		return obj, err
	}
	if keyOf(next) != keyOf(obj) {
		return obj, about(obj, errRenamed)
	}
	return c.Create(ctx, next, metav1.CreateOptions{})
}
