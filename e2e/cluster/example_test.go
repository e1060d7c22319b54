package cluster_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/kinform/kinform/e2e/cluster"
)

// A program without a testing.T uses New. A test calls cluster.Start(t, cluster.Options{}), which
// also closes. The example is compiled and not run, since it needs the servers.
func ExampleNew() {
	ctx := context.Background()
	c, err := cluster.New(ctx, cluster.Options{Progress: os.Stderr})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	c.APIServer.Kill()
	if err := c.APIServer.Start(ctx); err != nil {
		log.Fatal(err)
	}
	resp, err := c.HTTPClient().Get(c.URL() + "/api/v1/pods")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
}
