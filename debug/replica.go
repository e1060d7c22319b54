package debug

import (
	"fmt"
	"time"
)

// ReplicaState is a replica of package shard in this process, with its knowledge of the others.
type ReplicaState struct {
	Name     string `json:"name"`
	Identity string `json:"identity"`
	// Leased says whether it has a Lease, Until in how many seconds that ends unless it is renewed.
	Leased bool    `json:"leased"`
	Until  float64 `json:"until"`
	// Share is the part of all hashes that it works on, from 0 to 1.
	Share float64 `json:"share"`
	// Ranges are the first 20 ranges that the replica works on. RangeCount is the number of all.
	Ranges     []HashRange `json:"ranges"`
	RangeCount int         `json:"rangeCount"`
	Running    int         `json:"running"`
	Draining   int         `json:"draining"`
	Gained     uint64      `json:"gained"`
	Dropped    uint64      `json:"dropped"`
	// Problem says why nobody works on some keys, as the replica has seen it: see
	// shard.Assignment.Check.
	Problem string `json:"problem,omitempty"`
	Epoch   int64  `json:"epoch"`
	// Members are the replicas with a Lease, this one included, 100 at most.
	Members []MemberState `json:"members"`
	// Moves are the first 20 of the ranges that are to go to another replica, MoveCount all.
	Moves     []Move `json:"moves"`
	MoveCount int    `json:"moveCount"`
}

// HashRange is a part of all hashes. Both ends are included.
type HashRange struct {
	First  string `json:"first"`
	Last   string `json:"last"`
	Number int64  `json:"number"`
	Ready  bool   `json:"ready"`
}

// MemberState is one of the replicas.
type MemberState struct {
	Identity string  `json:"identity"`
	Weight   int     `json:"weight"`
	Share    float64 `json:"share"`
	// Renewed is how many seconds ago it last wrote its Lease, by its own clock.
	Renewed float64 `json:"renewed"`
	Stopped bool    `json:"stopped"`
}

// Move is a range that is to go from one replica to another.
type Move struct {
	First string `json:"first"`
	Last  string `json:"last"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// mostMembers is the number of members that are shown.
const mostMembers = 100

// replica is a replica that was added.
type replica struct {
	name string
	of   Replica
}

func (v *replica) state(now time.Time) ReplicaState {
	s, a := v.of.Status(), v.of.Assignment()
	out := ReplicaState{
		Name: v.name, Identity: printable(v.of.Identity()), Leased: s.ID != "", Share: s.Share, RangeCount: len(s.Ranges),
		Running: s.Running, Draining: s.Draining, Gained: s.Gained, Dropped: s.Dropped,
		Ranges: []HashRange{}, Members: []MemberState{}, Moves: []Move{},
	}
	if out.Leased {
		out.Until = s.Until.Sub(now).Seconds()
	}
	for _, r := range first(s.Ranges) {
		out.Ranges = append(out.Ranges, HashRange{hash(r.First), hash(r.Last), r.Number, r.Ready})
	}
	if a == nil {
		out.Problem = "the replica has not seen the Leases yet"
		return out
	}
	if err := a.Check(); err != nil {
		out.Problem = errorText(err)
	}
	out.Epoch = a.Epoch
	for _, m := range a.Members[:min(len(a.Members), mostMembers)] {
		out.Members = append(out.Members, MemberState{printable(m.Identity), m.Weight, m.Share, now.Sub(m.Renewed).Seconds(), m.Stopped})
	}
	for _, r := range a.Ranges {
		if r.Next == "" {
			continue
		}
		if out.MoveCount++; out.MoveCount <= shown {
			out.Moves = append(out.Moves, Move{hash(r.First), hash(r.Last), printable(r.Owner), printable(r.Next)})
		}
	}
	return out
}

func hash(n uint64) string { return fmt.Sprintf("%016x", n) }
