package fake

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Backup is the state of a [Server] at one moment, as a snapshot of etcd is. It can be
// restored any number of times, and holds on to its objects.
type Backup struct {
	server        *Server
	rv, compacted uint64
	restore       map[*table]func() // called under Server.mu
}

// Backup takes a backup: of all objects, and of the resourceVersion. Cost: one map entry per
// object, under the lock.
func (s *Server) Backup() *Backup {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &Backup{server: s, rv: s.rv, compacted: s.compacted, restore: map[*table]func(){}}
	for _, c := range s.order {
		b.restore[c] = c.backup()
	}
	return b
}

// Restore puts the server back to the moment of the backup, as restoring etcd from a snapshot does:
// objects and resourceVersion are the backup's, the writes since then never happened, and all
// watches break. The next writes get resourceVersions that were given out before; uids are never
// given out twice. The history before the backup stays. Resources that were registered after the
// backup are empty.
//
// To restore as etcdutl does with --bump-revision and --mark-compacted, call Restore,
// [Server.JumpResourceVersion] and [Server.Compact]. Error: [ErrInvalid], for a backup of
// another server.
func (s *Server) Restore(b *Backup) error {
	if b == nil || b.server != s {
		return errBackup
	}
	for _, c := range s.restore(b) {
		c.changed()
	}
	return nil
}

// restore is Restore without what follows, and returns all resources.
func (s *Server) restore(b *Backup) []*table {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compacted = max(b.compacted, min(s.compacted, b.rv)) // compacted history stays compacted
	s.rv = b.rv
	s.restores++
	s.upkeep.Forget()
	for _, c := range s.order {
		if restore := b.restore[c]; restore != nil {
			restore()
		} else {
			c.empty()
		}
	}
	s.dropWatches()
	return slices.Clone(s.order)
}

// backup returns a function that puts the present objects back. The caller holds Server.mu, and
// holds it again when it calls that function.
func (t *table) backup() func() {
	objects := make([]*revision, 0, len(t.objects))
	for _, s := range t.objects {
		objects = append(objects, s.cur)
	}
	return func() { t.reset(objects) }
}

// empty removes all objects, and reset puts others in their place. The history goes on from
// Server.rv. The caller holds Server.mu.
func (t *table) empty() { t.reset(nil) }

func (t *table) reset(objects []*revision) {
	t.objects = make(map[types.NamespacedName]*slot, len(objects))
	t.sorted, t.recent, t.dead = nil, nil, 0
	for _, v := range objects {
		s := &slot{key: v.key, cur: v}
		t.objects[v.key] = s
		t.recent = append(t.recent, s)
		t.upkeep.Note(v.key, nil, v.obj)
	}
	t.redefined = min(t.redefined, t.server.rv)
	n := t.log.search(t.server.rv)
	clear(t.log.records[n:])
	t.log.records = t.log.records[:n]
}
