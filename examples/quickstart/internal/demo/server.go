// Package demo simulates a cluster that is interesting to watch: an API server in memory
// whose pods are scheduled, run, end and are replaced, whose nodes are drained, and whose
// connections break from time to time. Everything depends on a seed only.
package demo

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

const (
	nodes      = 20
	namespaces = 10
)

// Options configures a [Cluster].
type Options struct {
	// Pods is the number of pods, at least one. The number in the cluster differs from it
	// by at most a tenth, except during a drain.
	Pods int
	// Changes is the number of changes per second. Zero means no changes.
	Changes int
	// Seed determines the pods and their changes.
	Seed uint64
	// Note gets a text for each event of the whole cluster, in the goroutine of Change. Nil
	// means no notes.
	Note func(string)
}

// NewServer returns an empty API server for pods and config maps.
func NewServer() (*fake.Server, error) {
	server := fake.New(fake.Options{})
	if err := fake.Register(server, kind.Of[*corev1.Pod](corev1.SchemeGroupVersion, "pods"), fake.Rules{}); err != nil {
		return nil, err
	}
	return server, fake.Register(server, kind.Of[*corev1.ConfigMap](corev1.SchemeGroupVersion, "configmaps"), fake.Rules{})
}

// Cluster changes the pods of a server. One goroutine at a time.
type Cluster struct {
	server *fake.Server
	opts   Options
	random *rand.Rand
	pods   []*corev1.Pod // in the server's state
	made   int           // number of pods created so far; part of their names
	down   int           // the drained node, negative for none

	disturbed int // number of disturbances so far
}

// Populate creates the pods on a server from [NewServer].
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
