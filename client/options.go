package client

import (
	"fmt"
	"runtime"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/kind"
)

// Options select the objects of a resource and configure their transfer. The zero value
// selects the whole resource in all namespaces.
type Options struct {
	// Namespace limits List and Watch to one namespace. It is also the namespace of keys and
	// objects that have none. Empty means all namespaces, or a cluster-scoped resource.
	Namespace string

	// LabelSelector limits List and Watch, in the syntax of labels.Parse, such as
	// "app=web,tier!=db". Empty selects everything.
	LabelSelector string

	// FieldSelector limits List and Watch, in the syntax of fields.ParseSelector, such as
	// "spec.nodeName=n1". Empty selects everything. The server decides which fields of a
	// resource can be selected.
	FieldSelector string

	// MaxObjectBytes limits the size of one object, so that no object can exhaust the memory of the
	// process. The limit is for the encoding, without compression. A decoded object may take eight
	// times the limit, or 1 MiB if that is more. This is estimated before decoding, and never too
	// low, so a limit near the size of the objects can refuse an object with a hundred thousand
	// tiny parts.
	//
	// A list or watch skips a larger object and reports it with its key as a *TooLargeError.
	// Other calls return that error. Zero means 16 MiB, which is enough for
	// every object that etcd stores by default. Set a higher limit for an aggregated API with
	// larger objects. Negative means no limit.
	MaxObjectBytes int64

	// DropManagedFields leaves out metadata.managedFields, in every encoding. Managed fields
	// are a third of many objects, and most programs never look at them. An update without
	// them does not change those on the server. Lists and watches ask the server not to send them
	// (KEP-5958).
	DropManagedFields bool

	// ShareJSON lets the objects that a reflector reads share equal parts in JSON, too, as they always do
	// in protobuf: see [Resource.Relist]. That halves the memory of many objects that are much alike. But in
	// JSON a known part is decoded nevertheless, so it costs a tenth to a half more time, and 140 KB for each
	// Resource.
	ShareJSON bool
}

// check checks the part of the collection that the options select.
func (opts Options) check(scope kind.Scope) error {
	if err := checkSegment(opts.Namespace); err != nil {
		return err
	}
	if scope == kind.ClusterScoped && opts.Namespace != "" {
		return fmt.Errorf("%w: Options.Namespace is %q, but the kind is cluster-scoped: leave the namespace out, or remove Cluster() from the kind", mistake.Scope, opts.Namespace)
	}
	if _, err := labels.Parse(opts.LabelSelector); err != nil {
		return fmt.Errorf("label selector %q: %w", opts.LabelSelector, err)
	}
	if _, err := fields.ParseSelector(opts.FieldSelector); err != nil {
		return fmt.Errorf("field selector %q: %w", opts.FieldSelector, err)
	}
	return nil
}

// checkSegment checks that a name is one segment of a URL path.
func checkSegment(s string) error {
	if faults := content.IsPathSegmentName(s); len(faults) > 0 {
		return fmt.Errorf("name %q %s", s, faults[0])
	}
	return nil
}

// defaultMaxObjectBytes is the limit if Options.MaxObjectBytes is zero: 16 MiB. etcd stores
// objects of up to 1.5 MiB by default (--max-request-bytes), and an API server accepts bodies
// of up to 3 MiB. An answer can be larger than the stored object: JSON may need six bytes for
// one, which turns 1.5 MiB into 9, conversion between versions adds fields, and an aggregated
// API may not use etcd.
const defaultMaxObjectBytes = 16 << 20

// objectLimit returns the limit in bytes for a value of Options.MaxObjectBytes.
func objectLimit(option int64) int64 {
	switch {
	case option == 0:
		return defaultMaxObjectBytes
	case option < 0:
		return decode.Unlimited
	}
	return option
}

// mostDecoders is how many goroutines decode a list, or the initial events of a watch, if there are processors enough.
// Finding the ends of objects takes a sixth of the time, so more decoders would have to wait.
const mostDecoders = 4

// decoders returns the number of goroutines of a list.
func decoders() int { return min(runtime.GOMAXPROCS(0), mostDecoders) }
