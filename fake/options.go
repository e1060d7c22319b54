package fake

import (
	"context"
	"hash/maphash"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake/internal/upkeep"
)

// Options configure a [Server]. The zero value works.
type Options struct {
	// History is the number of writes, of all resources together, that a watch or a
	// consistent list can go back. Zero means 100,000; negative keeps all.
	History int

	// Now is the clock for creationTimestamp and deletionTimestamp. The goroutine of the write
	// calls it without a lock. Nil means time.Now, which testing/synctest fakes.
	Now func() time.Time

	// CollectGarbage makes the server act as the garbage collector of Kubernetes. It deletes
	// objects whose owners are all gone, and finishes deletions in the foreground or with
	// orphans. That is complete when the write that caused it returns, or a concurrent write
	// of another goroutine. Without it, objects keep the finalizers of these deletions until
	// a client removes them, as with an API server that runs alone.
	CollectGarbage bool

	// KeepNamespaces gives namespaces a life cycle, if the resource namespaces of the core group is
	// registered. Objects can then be created only in namespaces that exist and are not being
	// deleted, and the deletion of a namespace deletes its objects before the write returns. It
	// goes with the last of them. Without it, namespaces are objects like any other and need not
	// exist.
	KeepNamespaces bool

	// StopPods makes the server act as kubelets that stop pods at once, so that the deletion of
	// a pod that a node runs is complete when it returns. Without it, such a pod is terminating
	// until it is deleted with a gracePeriodSeconds of zero or by the function [Delete], and so
	// are the pods that CollectGarbage and KeepNamespaces delete.
	StopPods bool

	// Mutate and Validate admit the writes of requests, as the admission of an API server does; they do not see
	// the writes of a test's own functions. Mutate comes first and may change a.Object, and Validate sees what
	// would be stored. An error refuses the write, with 403 Forbidden unless it is a Status. They run in the
	// goroutine of the request, without a lock, concurrently, and once more if another write comes between; the
	// context is the request's. Nil admits everything.
	Mutate, Validate func(ctx context.Context, a *Admission) error

	// Strategy returns the [Strategy] of a resource, nil if it has none. It is called when the
	// resource is registered or defined. Package with/strategies has the strategies of the API
	// server itself. If it is set, objects of all resources have managedFields from their first
	// write on, which hooks see; a deletion of a pod at once leaves a millisecond between the
	// pod's deletion mark and its removal, in which clients see the mark; and a list over HTTP without
	// a version, after a write of another resource, waits until its own resource is written, or for two
	// milliseconds. If such a list has just waited, it is up to 100. All this is as in the API server,
	// and costs time. Nil means that no resource has a strategy.
	Strategy func(of schema.GroupVersionResource, kind schema.GroupVersionKind) *Strategy

	// Seen gets each request that [Server.Requests] counts, with its answer, before the sender gets
	// the answer; of a watch, when it begins. It runs in the goroutine of the request, without a
	// lock, concurrently. faketest.Transcript collects the exchanges. It may be nil.
	Seen func(Exchange)

	// The following options make the server an older one that lacks a feature.

	// NoWatchList makes it refuse sendInitialEvents.
	NoWatchList bool
	// NoBookmarks makes it send no bookmarks, even if asked to. It implies NoWatchList.
	NoBookmarks bool
	// NoPaging makes it ignore limit and continue: every list is whole.
	NoPaging bool
	// NoSharding makes it ignore shardSelector: lists are whole, and have no ShardInfo.
	NoSharding bool

	// DropsManagedFields makes the server a newer one, of Kubernetes 1.38 with ManagedFieldsOptOut: it leaves out
	// metadata.managedFields if the Accept header says drop=metadata.managedFields.
	DropsManagedFields bool
}

func (o Options) lacks() features {
	return features{
		watchList: o.NoWatchList || o.NoBookmarks,
		bookmarks: o.NoBookmarks, paging: o.NoPaging, sharding: o.NoSharding, dropping: !o.DropsManagedFields,
	}
}

// defaultHistory replaces an Options.History of zero.
const defaultHistory = 100_000

// New returns an empty server at resourceVersion 1.
func New(opts Options) *Server {
	s := &Server{
		now:       opts.Now,
		stopPods:  opts.StopPods,
		mutate:    opts.Mutate,
		validate:  opts.Validate,
		seen:      opts.Seen,
		strategy:  opts.Strategy,
		exact:     opts.Strategy != nil,
		lacks:     opts.lacks(),
		rv:        1,
		compacted: 1,
		tables:    map[schema.GroupResource]*table{},
		byType:    map[reflect.Type][]*table{},
		drops:     make(chan struct{}),
		seed:      maphash.MakeSeed(),
	}
	s.upkeep = upkeep.New(&s.mu, opts.CollectGarbage, opts.KeepNamespaces)
	switch {
	case opts.History == 0:
		s.history = defaultHistory
	case opts.History > 0:
		s.history = uint64(opts.History)
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}
