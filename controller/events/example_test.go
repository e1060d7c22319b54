package events_test

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller/events"
	"github.com/kinform/kinform/fake"
)

// A program makes one recorder, and a reporter for each kind. It ends the recorder after what
// records.
func Example() {
	server := fake.New(fake.Options{})
	fake.Register(server, events.Kind, fake.Rules{})
	conn := client.Connection{URL: fake.URL, HTTP: server.Client()}

	recorder := events.New(conn, events.Options{Controller: "example.com/websites"})
	sites := events.For(recorder, Websites)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- recorder.Run(ctx) }()

	shop := &Website{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop", UID: "1"}}
	sites.Normal(shop, "Deployed", "Deploy", "the deployment has %d replicas", 3)
	sites.Warning(shop, "NoDNS", "UpdateDNS", "%v", errors.New("no such zone"))

	cancel()
	fmt.Println("ended:", <-ended) // what was recorded is written by now
	fmt.Println("written:", recorder.Stats().Written, "dropped:", recorder.Stats().Dropped.Total())
	// Output:
	// ended: <nil>
	// written: 2 dropped: 0
}
