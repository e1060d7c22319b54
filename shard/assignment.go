package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/shard/internal/replica"
	"github.com/kinform/kinform/shard/leader"
)

// ErrUnowned is the cause of an error of [Assignment.Check].
var ErrUnowned = errors.New("nobody works on some keys")

// Assignment lists the ranges and their owners, as the API server has them. It is for programs that
// look at the replicas from outside.
type Assignment struct {
	// Valid is false if there is no assignment, or if somebody has edited it.
	Valid bool
	// Open is false while nobody may have ranges: for LeaseDuration after the first replica began,
	// and after somebody has deleted or edited the assignment.
	Open bool
	// Scheme is Options.Scheme of the replicas.
	Scheme string
	// Epoch grows with each change.
	Epoch int64
	// Ranges are all hashes, sorted.
	Ranges []OwnedRange
	// Members are the replicas that have a Lease, sorted by identity.
	Members []Member
}

// OwnedRange is a part of all hashes.
type OwnedRange struct {
	// First and Last are included.
	First, Last uint64
	// ID and Owner are the UID of the owner's Lease and its identity, empty if there is no owner.
	ID, Owner string
	// Next is the identity of the replica that gets the range once Owner has released it, empty if
	// the range stays.
	Next string
	// Number is the fencing number.
	Number int64
}

// Member is a replica with a Lease.
type Member struct {
	// ID is the UID of the Lease.
	ID, Lease, Identity string
	Weight              int
	// Renewed is the time at which the replica last wrote its Lease, by its own clock.
	Renewed time.Time
	// LeaseDuration is Options.LeaseDuration of the replica, zero if somebody has edited its Lease.
	LeaseDuration time.Duration
	// Share is the part of all hashes that it owns, from 0 to 1.
	Share float64
	// Stopped says that the replica has ended.
	Stopped bool
}

// Read reads the assignment of the replicas of a controller by one request, a list of Leases.
// Errors: the errors of client.New, and a [*RequestError].
func Read(ctx context.Context, server client.Connection, namespace, name string) (*Assignment, error) {
	c, err := client.New(server, Kind, client.Options{Namespace: namespace, LabelSelector: LabelName + "=" + name})
	if err != nil {
		return nil, fmt.Errorf("shard: %w", err)
	}
	w := newWatcher(name)
	var bad error
	_, err = c.List(ctx, metav1.ListOptions{}, func(ev reflector.Event[*leader.Lease], err error) bool {
		if err != nil {
			bad = err
			return false
		}
		w.put(w.leases, ev)
		return true
	})
	if err = errors.Join(err, bad); err != nil {
		return nil, &RequestError{Lease: types.NamespacedName{Namespace: namespace, Name: name}, Verb: "list", Err: err, read: true}
	}
	return assignmentOf(viewOf(name, w.leases, false)), nil
}

func assignmentOf(v *replica.View) *Assignment {
	a := &Assignment{}
	shares := map[string]float64{}
	if s := v.Sheet; s != nil && s.Genuine() {
		a.Valid, a.Open, a.Scheme, a.Epoch = true, s.Plan.Open, s.Plan.Scheme, s.Plan.Epoch
		for n, r := range s.Plan.Ranges {
			last := s.Plan.Ranges.Last(n)
			a.Ranges = append(a.Ranges, OwnedRange{r.First, last, r.Owner, s.Plan.Names[r.Owner], s.Plan.Names[r.Next], r.Number})
			shares[r.Owner] += share(r.First, last)
		}
	}
	for _, r := range v.Records {
		a.Members = append(a.Members, Member{
			ID: r.UID, Lease: r.Name, Identity: r.Identity, Weight: r.Info.Weight, Renewed: time.UnixMicro(r.Renewed),
			LeaseDuration: time.Duration(r.Info.LeaseMilliseconds) * time.Millisecond,
			Share:         shares[r.UID], Stopped: r.Valid && r.Info.Stopped,
		})
	}
	slices.SortFunc(a.Members, func(x, y Member) int {
		return strings.Compare(x.Identity+"\x00"+x.Lease, y.Identity+"\x00"+y.Lease)
	})
	return a
}

// Check returns an error that wraps [ErrUnowned] unless every hash has an owner with a Lease. No
// hash has two, because ranges do not overlap. After a fault, the error goes away within
// LeaseDuration and a few RetryPeriods, if a replica runs. Check does not look at clocks, so it
// does not find an owner that has just died: see [Assignment.CheckRenewed].
func (a *Assignment) Check() error {
	switch {
	case !a.Valid && len(a.Members) == 0:
		return fmt.Errorf("shard: %w: there is no assignment, and no replica runs", ErrUnowned)
	case !a.Valid:
		return fmt.Errorf("shard: %w: the assignment is missing or was edited", ErrUnowned)
	case !a.Open:
		return fmt.Errorf("shard: %w: the assignment is new, and waits until all that had ranges have stopped", ErrUnowned)
	}
	alive := map[string]bool{}
	for _, m := range a.Members {
		alive[m.ID] = !m.Stopped
	}
	for _, r := range a.Ranges {
		switch {
		case r.ID == "":
			return fmt.Errorf("shard: %w: hashes from %016x to %016x belong to nobody", ErrUnowned, r.First, r.Last)
		case !alive[r.ID]:
			return fmt.Errorf("shard: %w: hashes from %016x to %016x belong to %q, which has stopped or has no Lease", ErrUnowned, r.First, r.Last, r.Owner)
		}
	}
	return nil
}

// CheckRenewed returns an error that wraps [ErrUnowned] if the owner of a range has not renewed its
// Lease since before was read. So it finds dead owners without a comparison of clocks. Let
// RenewDeadline pass between the two: a replica that works has renewed by then.
func (a *Assignment) CheckRenewed(before *Assignment) error {
	then := map[string]time.Time{}
	for _, m := range before.Members {
		then[m.ID] = m.Renewed
	}
	for _, m := range a.Members {
		if at, known := then[m.ID]; known && m.Share > 0 && m.Renewed.Equal(at) {
			return fmt.Errorf("shard: %w: %q, which has %.1f%% of them, has not renewed its Lease", ErrUnowned, m.Identity, m.Share*100)
		}
	}
	return nil
}
