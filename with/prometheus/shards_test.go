package kinformprom_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kinform/kinform/shard"
	kinformprom "github.com/kinform/kinform/with/prometheus"
)

type replica shard.Status

func (r replica) Status() shard.Status { return shard.Status(r) }

func TestReplica(t *testing.T) {
	m := kinformprom.New()
	if err := m.AddReplica("sites", replica{Ranges: make([]shard.Range, 3), Share: 0.25, Running: 2, Draining: 1, Gained: 7, Dropped: 4, Lost: 3, Expired: 2}); err != nil {
		t.Fatal(err)
	}
	if err := m.AddReplica("sites", replica{}); !errors.Is(err, kinformprom.ErrDuplicate) {
		t.Error(err)
	}
	if err := m.AddReplica("none", nil); !errors.Is(err, kinformprom.ErrNoPart) {
		t.Error(err)
	}
	want := `
# HELP kinform_shard_draining_reconciles Calls of reconcile that hold up a range which is to move.
# TYPE kinform_shard_draining_reconciles gauge
kinform_shard_draining_reconciles{name="sites"} 1
# HELP kinform_shard_leases_expired_total Leases that this replica has lost because they were not renewed in time.
# TYPE kinform_shard_leases_expired_total counter
kinform_shard_leases_expired_total{name="sites"} 2
# HELP kinform_shard_leases_lost_total Leases that this replica has lost, for any reason.
# TYPE kinform_shard_leases_lost_total counter
kinform_shard_leases_lost_total{name="sites"} 3
# HELP kinform_shard_ranges Ranges of hashes that this replica has.
# TYPE kinform_shard_ranges gauge
kinform_shard_ranges{name="sites"} 3
# HELP kinform_shard_ranges_dropped_total Ranges that this replica gave up or lost.
# TYPE kinform_shard_ranges_dropped_total counter
kinform_shard_ranges_dropped_total{name="sites"} 4
# HELP kinform_shard_ranges_gained_total Ranges that came to this replica.
# TYPE kinform_shard_ranges_gained_total counter
kinform_shard_ranges_gained_total{name="sites"} 7
# HELP kinform_shard_running_reconciles Calls of reconcile that run.
# TYPE kinform_shard_running_reconciles gauge
kinform_shard_running_reconciles{name="sites"} 2
# HELP kinform_shard_share Part of all keys that this replica works on, by their hashes, from 0 to 1: the sum of all replicas is 1.
# TYPE kinform_shard_share gauge
kinform_shard_share{name="sites"} 0.25
`
	if err := testutil.CollectAndCompare(m, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
