package planted

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
)

// StateInMemory gives each Shop a port, and remembers in the process which are taken. After a restart it gives out the
// first port again.
//
// Mechanism: https://github.com/sustainable-computing-io/susql-operator/issues/3 (what is accounted for is known in
// memory alone, and a restart counts twice).
func StateInMemory() sim.Program {
	return sim.Program{
		Server: newServer(),
		Run:    runStateInMemory,
		Users: script(
			create("shop", ShopSpec{Host: "shop.example.com"}), settle,
			create("cafe", ShopSpec{Host: "cafe.example.com"}), settle,
		),
		Finally: differentPorts,
	}
}

func differentPorts(w *sim.World) error {
	shops, err := fake.List[*Shop](w.Server, fake.Selection{})
	has := map[int64]string{}
	for _, shop := range shops {
		if other, taken := has[shop.Status.Port]; taken {
			return fmt.Errorf("%s and %s have the port %d", other, shop.Name, shop.Status.Port)
		}
		has[shop.Status.Port] = shop.Name
	}
	return err
}

func runStateInMemory(ctx context.Context, to client.Connection) error {
	shops := kinform.Open(to, Shops)
	ports := map[types.UID]int64{}
	c := controller.New("ports", func(ctx context.Context, key kinform.Key) error {
		shop, ok := shops.Cached(key)
		if !ok || shop.Status.Port != 0 {
			return nil
		}
		if ports[shop.UID] == 0 {
			ports[shop.UID] = 8001 + int64(len(ports))
		}
		_, err := controller.PatchStatus(ctx, shops, shop, func(s *Shop) { s.Status.Port = ports[shop.UID] })
		return err
	})
	controller.For(c, shops)
	return manager.Run(ctx, c)
}
