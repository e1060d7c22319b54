package pods_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/pods"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A Pod in its life, as one client sees it. Against a real server the Connection is
// client.InCluster's or has the address that kubectl proxy prints.
func Example() {
	server := fake.New(fake.Options{})
	if err := fake.Register(server, core.Pods, fake.Rules{}); err != nil {
		fmt.Println(err)
		return
	}
	conn := client.Connection{URL: fake.URL, HTTP: server.Client()}
	if err := pods.Run(context.Background(), conn, os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// created prod/web, image nginx:1.29
	// labelled map[tier:front]
	// prod/web is Running
	// created again: AlreadyExists
	// deleted, and then: NotFound
}
