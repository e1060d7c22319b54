package docs_test

import (
	"errors"
	"os"
	"time"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/examples/website"
	"github.com/kinform/kinform/queue"
	"github.com/kinform/kinform/shard"
)

func Example_sharding() {
	replica, err := shard.New(server, shard.Options{Namespace: "prod", Name: "websites.example.com", Identity: os.Getenv("POD_NAME")})
	if err != nil {
		return
	}
	sites := kinform.Open(replica.Gate(server), website.Websites) // writes end with the lease
	var c *controller.Controller[kinform.Key]
	work, err := shard.Divide(replica, shard.Keys[kinform.Key]{
		Hashed:  shard.ByKey,
		All:     sites.AsInformer().Store().Keys,
		Add:     func(key kinform.Key) { c.Queue().Add(key) },
		CatchUp: sites.WaitForNow, // the former owner's writes are in the cache before work begins
	}, reconcile)
	if err != nil {
		return
	}
	c = controller.New("websites", work.Reconcile, controller.Options[kinform.Key]{
		Run: queue.RunOptions{Grace: 30 * time.Second}, // longer than a reconcile
	})
	controller.For(c, sites, func(ev kinform.Event[*website.Website]) bool { return work.Has(ev.Key) })

	m.AddControllers(c)
	m.Add("replica", replica)
	m.AddHealthCheck("replica", replica.Healthy(20*time.Second)) // for the liveness probe
	m.Show("replica", replica)                                   // to AddManager of the metrics and of the debug page
}

func Example_shardingMemory() {
	replica, err := shard.New(server, shard.Options{Namespace: "prod", Name: "websites.example.com", Identity: os.Getenv("POD_NAME")})
	if err != nil {
		return
	}
	sites := kinform.Open(replica.Gate(server), website.Websites, controller.OpenOptions[*website.Website]{
		Part: shard.Part[*website.Website]{
			Hashes: replica.Hashes(),
			Hash: func(w *website.Website) uint64 { // that of the object's key
				return shard.Hash(shard.ByKey(kinform.Key{Namespace: w.Namespace, Name: w.Name}))
			},
		},
	})
	_ = sites
}

func Example_shardingByServer() {
	replica, err := shard.New(server, shard.Options{
		Namespace: "prod", Name: "websites.example.com", Identity: os.Getenv("POD_NAME"), Scheme: "namespace, by the server's hash",
	})
	if err != nil {
		return
	}
	sites := kinform.Open(replica.Gate(server), website.Websites, controller.OpenOptions[*website.Website]{
		Part: shard.Part[*website.Website]{Hashes: replica.Hashes(), Field: shard.FieldNamespace},
	})
	work, err := shard.Divide(replica, shard.Keys[kinform.Key]{
		Hashed:  shard.ByNamespace,
		Hash:    shard.ServerHash, // and Scheme: "namespace, by the server's hash" in shard.Options
		All:     sites.AsInformer().Store().Keys,
		Add:     func(key kinform.Key) { c.Queue().Add(key) }, // c is made after work
		CatchUp: sites.WaitForNow,
	}, reconcile)
	_, _ = work, err
}

func Example_shardingCheck() {
	before := &shard.Assignment{}
	now, err := shard.Read(ctx, server, "prod", "websites.example.com")
	if err == nil {
		err = errors.Join(now.Check(), now.CheckRenewed(before)) // before is that of a minute ago
	}
}
