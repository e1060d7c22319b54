package kinformprom

import "github.com/kinform/kinform/shard"

// Replica is a *shard.Replica.
type Replica interface{ Status() shard.Status }

// shardNumbers are the metrics of replicas.
func shardNumbers() []number[shard.Status] {
	return []number[shard.Status]{
		gauge(desc("kinform_shard_share", "Part of all keys that this replica works on, by their hashes, from 0 to 1: the sum of all replicas is 1.", "name"),
			func(s shard.Status) float64 { return s.Share }),
		gauge(desc("kinform_shard_ranges", "Ranges of hashes that this replica has.", "name"),
			func(s shard.Status) float64 { return float64(len(s.Ranges)) }),
		gauge(desc("kinform_shard_running_reconciles", "Calls of reconcile that run.", "name"),
			func(s shard.Status) float64 { return float64(s.Running) }),
		gauge(desc("kinform_shard_draining_reconciles", "Calls of reconcile that hold up a range which is to move.", "name"),
			func(s shard.Status) float64 { return float64(s.Draining) }),
		counter(desc("kinform_shard_ranges_gained_total", "Ranges that came to this replica.", "name"),
			func(s shard.Status) float64 { return float64(s.Gained) }),
		counter(desc("kinform_shard_ranges_dropped_total", "Ranges that this replica gave up or lost.", "name"),
			func(s shard.Status) float64 { return float64(s.Dropped) }),
		counter(desc("kinform_shard_leases_lost_total", "Leases that this replica has lost, for any reason.", "name"),
			func(s shard.Status) float64 { return float64(s.Lost) }),
		counter(desc("kinform_shard_leases_expired_total", "Leases that this replica has lost because they were not renewed in time.", "name"),
			func(s shard.Status) float64 { return float64(s.Expired) }),
	}
}
