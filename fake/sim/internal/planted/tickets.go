package planted

import (
	"context"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/fake/sim"
)

// Tickets is correct. It has a ticket (a Config) for each Shop, under a generated name. It finds the ticket by a label
// with the Shop's UID, and asks the server itself before it makes one.
func Tickets() sim.Program {
	return sim.Program{
		Server: newServer(),
		Run:    runTickets,
		Users: script(
			create("shop", ShopSpec{Size: 1}), settle,
			patch("shop", `{"spec":{"size":2}}`), settle,
			create("cafe", ShopSpec{Size: 1}), settle,
			remove("shop"), gone("shop"),
			create("shop", ShopSpec{Size: 3}), settle,
		),
	}
}

func runTickets(ctx context.Context, to client.Connection) error {
	shops, tickets := kinform.Open(to, Shops), kinform.Open(to, Configs)
	now, err := client.New(to, Configs, client.Options{Namespace: namespace})
	if err != nil {
		return err
	}
	c := controller.New("tickets", func(ctx context.Context, key kinform.Key) error {
		shop, ok := shops.Cached(key)
		if !ok {
			return nil
		}
		size := strconv.FormatInt(shop.Spec.Size, 10)
		ticket, err := ticketOf(ctx, shop, now)
		if err != nil {
			return err
		}
		if ticket != nil {
			_, _, err := controller.CreateOrUpdate(ctx, tickets, ticket, func(ticket *Config) error {
				ticket.Data = map[string]string{"size": size}
				return controller.SetController(ticket, shop, Shops)
			})
			return err
		}
		ticket = &Config{Data: map[string]string{"size": size}}
		ticket.Namespace, ticket.GenerateName = shop.Namespace, shop.Name+"-"
		ticket.Labels = map[string]string{"shop": string(shop.UID)}
		if err := controller.SetController(ticket, shop, Shops); err != nil {
			return err
		}
		_, err = tickets.Create(ctx, ticket, metav1.CreateOptions{})
		return err
	})
	controller.For(c, shops)
	controller.Owns(c, shops, tickets)
	return manager.Run(ctx, c)
}

// ticketOf asks the server for the ticket of a Shop. Nil means that there is none.
func ticketOf(ctx context.Context, shop *Shop, tickets *client.Resource[*Config]) (found *Config, _ error) {
	for ticket, err := range tickets.Items(ctx, metav1.ListOptions{LabelSelector: "shop=" + string(shop.UID)}) {
		if err != nil {
			return nil, err
		}
		found = ticket
	}
	return found, nil
}
