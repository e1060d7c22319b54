//go:build e2e

package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/e2e/beside"
	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

// checkedCache is an informer of Kinform whose contracts are checked.
type checkedCache interface {
	beside.Cache
	Run(ctx context.Context) error
	// illegal returns what the handler saw against the rules.
	illegal() error
	// settled reports whether the handler has what the store has.
	settled() bool
	// current reports whether all objects have the contents that change without a version.
	current() bool
	// renewed is the number of lists that followed watches which ended early.
	renewed() uint64
	// polls reports whether lists alone keep the cache up to date.
	polls() bool
	// compare returns how the store differs from items, the server's objects as JSON.
	compare(items []json.RawMessage) error
	// events is the number of events that the handler got.
	events() int
}

// checked is a checkedCache of T.
type checked[T any] struct {
	beside.Complaints
	kind    beside.Kind
	name    string
	inf     *informer.Informer[beside.Key, T]
	seen    faketest.Histories[beside.Key, T]
	stale   atomic.Int64 // events that the store was older than
	version func(T) string
	decode  func([]byte) (T, error)
	fresh   func(T) bool // nil for contents that change with versions only
}

// newChecked returns a cache of what source has. decode makes the same of an object's JSON without
// Kinform.
func newChecked[T any](kind beside.Kind, name string, source reflector.Source[T], packed bool, key store.KeyFunc[beside.Key, T], version func(T) string, decode func([]byte) (T, error)) (*checked[T], error) {
	c := &checked[T]{kind: kind, name: name, version: version, decode: decode}
	c.seen.Packed = packed
	var err error
	c.inf, err = informer.New(source, key, informer.Options[T]{Packed: packed, OnError: c.Note})
	if err != nil {
		return nil, err
	}
	_, err = c.inf.AddHandler(informer.HandlerFunc[beside.Key, T](c.handle), informer.HandlerOptions[T]{})
	return c, err
}

func (c *checked[T]) handle(ev informer.Event[beside.Key, T]) {
	if obj, ok := c.inf.Store().Get(ev.Key); ok && older(c.version(obj), c.version(ev.Object)) {
		c.stale.Add(1)
	}
	switch ev.Type {
	case informer.Added:
		c.seen.Added(ev.Key, ev.Object)
	case informer.Updated:
		c.seen.Updated(ev.Key, ev.Old, ev.Object)
	case informer.Deleted:
		c.seen.Deleted(ev.Key, ev.Object)
	}
}

func (c *checked[T]) Kind() beside.Kind             { return c.kind }
func (c *checked[T]) Namespace() string             { return "" }
func (c *checked[T]) Run(ctx context.Context) error { return c.inf.Run(ctx) }
func (c *checked[T]) events() int                   { return c.seen.Events() }

func (c *checked[T]) Version(key beside.Key) string {
	obj, ok := c.inf.Store().Get(key)
	if !ok {
		return ""
	}
	return c.version(obj)
}

func (c *checked[T]) Versions() map[beside.Key]string {
	all := map[beside.Key]string{}
	for key, obj := range c.inf.Store().All() {
		all[key] = c.version(obj)
	}
	return all
}

func (c *checked[T]) Synced() bool {
	select {
	case <-c.inf.Synced():
		return true
	default:
		return false
	}
}

func (c *checked[T]) Why() string {
	return fmt.Sprintf("%s: %s; stats %+v", c.name, c.Complaints.Why(), c.inf.Stats())
}

func (c *checked[T]) illegal() error {
	err := errors.Join(c.seen.Err(), beside.FalseAlarm(c.inf.Stats()))
	if n := c.stale.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("the store was older than %d events", n))
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", c.name, err)
	}
	return err
}

func (c *checked[T]) settled() bool {
	n := 0
	for key, obj := range c.seen.Live() {
		if stored, ok := c.inf.Store().Get(key); !ok || c.version(stored) != c.version(obj) || !cmp.Equal(stored, obj) {
			return false
		}
		n++
	}
	return n == c.inf.Store().Len()
}

func (c *checked[T]) current() bool {
	if c.fresh == nil {
		return true
	}
	for _, obj := range c.inf.Store().All() {
		if !c.fresh(obj) {
			return false
		}
	}
	return true
}

func (c *checked[T]) renewed() uint64 { return c.inf.Stats().Relists.Ended }

func (c *checked[T]) polls() bool { return c.inf.Stats().Polling.Every != 0 }

// sameButKind leaves out kinds, which items of a list do not have.
var sameButKind = cmpopts.IgnoreTypes(metav1.TypeMeta{})

func (c *checked[T]) compare(items []json.RawMessage) error {
	got := map[beside.Key]T{}
	for key, obj := range c.inf.Store().All() {
		got[key] = obj
	}
	var wrong []string
	for _, item := range items {
		key, err := keyOf(item)
		if err != nil {
			return err
		}
		want, err := c.decode(item)
		if err != nil {
			return err
		}
		obj, ok := got[key]
		delete(got, key)
		switch {
		case !ours(key): // the server writes to it at any time
		case !ok:
			wrong = append(wrong, fmt.Sprintf("%v is missing", key))
		case !cmp.Equal(want, obj, sameButKind):
			wrong = append(wrong, fmt.Sprintf("%v (-server +store):\n%.2000s", key, cmp.Diff(want, obj, sameButKind)))
		}
	}
	for key := range got {
		if ours(key) {
			wrong = append(wrong, fmt.Sprintf("%v is not on the server", key))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return fmt.Errorf("%s: wrong about %d objects: %s", c.name, len(wrong), strings.Join(wrong[:min(5, len(wrong))], "; "))
}

func keyOf(item json.RawMessage) (beside.Key, error) {
	var obj struct{ Metadata metav1.ObjectMeta }
	err := json.Unmarshal(item, &obj)
	return beside.Key{Namespace: obj.Metadata.Namespace, Name: obj.Metadata.Name}, err
}
