package leader_test

import (
	"context"
	"fmt"
	"time"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/shard/leader"
)

// A program runs its work while it leads. Pass the elector to a manager instead if there are
// controllers.
func Example() {
	server := fake.New(fake.Options{})
	fake.Register(server, leader.Kind, fake.Rules{})
	conn := client.Connection{URL: fake.URL, HTTP: server.Client()}

	elector := leader.New(conn, leader.Options{
		Namespace: "prod", Name: "backup", Identity: "backup-0", // the name of the pod
		LeaseDuration: 300 * time.Millisecond, RenewDeadline: 200 * time.Millisecond, RetryPeriod: 20 * time.Millisecond, // leave these out
	})
	ctx, stop := context.WithCancel(context.Background()) // or signal.NotifyContext
	err := elector.Lead(ctx, func(ctx context.Context) {
		fmt.Println("leads:", elector.Leads(), elector.Leader())
		stop()
		<-ctx.Done() // work until this
		fmt.Println("stops:", context.Cause(ctx))
	})
	fmt.Println("ended:", err)
	// Output:
	// leads: true backup-0
	// stops: context canceled
	// ended: <nil>
}
