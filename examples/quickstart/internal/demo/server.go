// Package demo simulates a cluster that is worth watching: an API server in memory whose
// pods are scheduled, run, end and are replaced, whose nodes are drained, and whose
// connections break at times. All of it follows from a seed.
package demo

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/fake"
)

const (
	nodes      = 20
	namespaces = 10
)

// Options configures a [Cluster].
type Options struct {
	// Pods is the number of pods, from which the cluster never strays by more than a tenth,
	// drains aside. At least one.
	Pods int
	// Changes is the number of changes in a second. Zero leaves the cluster as it is.
	Changes int
	// Seed is what the pods and their changes follow from.
	Seed uint64
	// Note hears of what happens to the cluster as a whole, in the goroutine of Change.
	// Nil means that nobody does.
	Note func(string)
}

// NewServer returns an API server that knows pods and config maps, and has none.
func NewServer() (*fake.Server, error) {
	server := fake.New(fake.Options{})
	if err := fake.Register[*corev1.Pod](server, fake.Resource{}); err != nil {
		return nil, err
	}
	return server, fake.Register[*corev1.ConfigMap](server, fake.Resource{})
}

// Cluster changes the pods of a server. One goroutine at a time.
type Cluster struct {
	server *fake.Server
	opts   Options
	random *rand.Rand
	pods   []*corev1.Pod // as the server has them
	made   int           // pods ever made; part of their names
	down   int           // the node that is drained, negative for none

	disturbed int // disturbances ever
}

// Populate creates the pods, on a server of [NewServer].
func Populate(server *fake.Server, opts Options) (*Cluster, error) {
	if opts.Note == nil {
		opts.Note = func(string) {}
	}
	c := &Cluster{server: server, opts: opts, random: rand.New(rand.NewPCG(opts.Seed, 0)), down: -1}
	for len(c.pods) < opts.Pods {
		if err := c.create(); err != nil {
			return nil, fmt.Errorf("populate: %w", err)
		}
		pod := c.pods[len(c.pods)-1]
		c.schedule(pod)
		if c.random.IntN(20) > 0 {
			c.start(pod)
		}
		if err := c.update(len(c.pods) - 1); err != nil {
			return nil, fmt.Errorf("populate: %w", err)
		}
	}
	return c, nil
}
