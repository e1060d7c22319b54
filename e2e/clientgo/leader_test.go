//go:build e2e

package clientgo

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// TestLeaderElection has two candidates: one leads and renews, gives up its lease, and the other
// one follows. Then a third party takes the lease, and the leader stops.
func TestLeaderElection(t *testing.T) {
	compare(t, func(t *testing.T, config *rest.Config) (seen []string) {
		set := clients(t, config)
		leases := set.CoordinationV1().Leases("default")
		note := func(what string) {
			lease, err := leases.Get(t.Context(), "elected", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, fmt.Sprintf("%s: holder %q, %d transitions, %d seconds", what, *lease.Spec.HolderIdentity, *lease.Spec.LeaseTransitions, *lease.Spec.LeaseDurationSeconds))
		}
		one, two := stand(t, set, "one"), (*candidate)(nil)
		<-one.began
		note("one leads")
		two = stand(t, set, "two")
		renewals(t, set, 3)
		note("one has renewed")
		one.stop() // and releases the lease
		<-one.ended
		<-two.began
		note("two leads")

		lease, err := leases.Get(t.Context(), "elected", metav1.GetOptions{})
		for err == nil { // the leader may renew in between
			var taken *coordinationv1.Lease
			other, now := "other", metav1.NowMicro()
			lease.Spec.HolderIdentity, lease.Spec.AcquireTime, lease.Spec.RenewTime = &other, &now, &now
			*lease.Spec.LeaseTransitions++
			*lease.Spec.LeaseDurationSeconds = 3600
			if taken, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{}); taken != nil && err == nil {
				break
			}
			lease, err = leases.Get(t.Context(), "elected", metav1.GetOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		<-two.ended
		note("two has lost it")
		return seen
	})
}

// renewals waits until the lease was renewed n times.
func renewals(t *testing.T, set *kubernetes.Clientset, n int) {
	t.Helper()
	var last metav1.MicroTime
	for n >= 0 {
		lease, err := set.CoordinationV1().Leases("default").Get(t.Context(), "elected", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !lease.Spec.RenewTime.Equal(&last) {
			last, n = *lease.Spec.RenewTime, n-1
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// candidate is an elector that runs. began is closed when it begins to lead, ended when it has
// stopped.
type candidate struct {
	stop         context.CancelFunc
	began, ended chan struct{}
}

func stand(t *testing.T, set *kubernetes.Clientset, name string) *candidate {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c := &candidate{stop, make(chan struct{}), make(chan struct{})}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: "elected"}, Client: set.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		},
		LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 100 * time.Millisecond, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { close(c.began); <-ctx.Done() },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		defer close(c.ended)
		elector.Run(ctx)
	})
	t.Cleanup(running.Wait)
	t.Cleanup(stop)
	return c
}
