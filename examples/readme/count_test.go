package main

import (
	"context"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/core"
)

func TestCountPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // with virtual time: no sleep takes time, and no wait is a guess
		server := fake.New(fake.Options{})
		must(fake.Register(server, core.Nodes, fake.Rules{}))
		must(fake.Register(server, core.Pods, fake.Rules{}))
		node, err := fake.Create(server, fake.Object(&corev1.Node{}, "", "node-1"))
		must(err)

		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- countPods(ctx, client.Connection{URL: fake.URL, HTTP: server.Client()}) }()

		_, err = fake.Create(server, fake.Object(&corev1.Pod{Spec: corev1.PodSpec{NodeName: "node-1"}}, "prod", "web"))
		must(err)
		synctest.Wait() // until nothing is left to do
		node, err = fake.Get[*corev1.Node](server, kinform.Key{Name: node.Name})
		if err != nil || node.Annotations["pods"] != "1" {
			t.Errorf("the node is %+v, %v", node, err)
		}
		stop()
		must(<-ended)
	})
}
