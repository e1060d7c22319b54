package shard_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/shard"
)

// One replica alone has all keys.
func Example() {
	server := fake.New(fake.Options{})
	fake.Register(server, shard.Kind, fake.Rules{})
	conn := client.Connection{URL: fake.URL, HTTP: server.Client()}

	replica, err := shard.New(conn, shard.Options{
		Namespace: "prod", Name: "jobs", Identity: "jobs-0", // the name of the pod
		LeaseDuration: 300 * time.Millisecond, RenewDeadline: 200 * time.Millisecond, RetryPeriod: 20 * time.Millisecond, // leave these out
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background()) // or signal.NotifyContext
	jobs := queue.New(queue.Options[string]{})
	work, err := shard.Divide(replica, shard.Keys[string]{
		Hashed: func(job string) string { return job },
		All:    func() iter.Seq[string] { return slices.Values([]string{"backup", "report"}) },
		Add:    jobs.Add,
	}, func(ctx context.Context, job string) error {
		number, _ := shard.Number(ctx)
		fmt.Println(job, number > 0)
		if job == "report" {
			stop()
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	go queue.Run(ctx, jobs, queue.RunOptions{}, work.Reconcile)
	fmt.Println("ended:", replica.Run(ctx))
	// Output:
	// backup true
	// report true
	// ended: <nil>
}
