package planted

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
)

// Messages is correct. Its status has a message with the generated name of a ticket (a Config), and a Volume has the
// Shop's UID in its name and in a URL. It asks the server by a dry run whether it would take an update. One of the Shops
// has a finalizer of others, which outlasts its own.
func Messages() sim.Program {
	return sim.Program{
		Server: newServer(),
		Run:    runMessages,
		Users: script(
			func(w *sim.World) error {
				shop := fake.Object(&Shop{}, namespace, "held")
				shop.Finalizers = []string{"example.com/others"}
				_, err := fake.Create(w.Server, shop)
				return err
			}, settle,
			create("shop", ShopSpec{Host: "a.example.com"}), settle,
			patch("shop", `{"spec":{"host":"b.example.com"}}`), settle,
			remove("held"), settle,
			create("cafe", ShopSpec{Size: 1}), settle,
			patch("held", `{"metadata":{"finalizers":null}}`), settle,
		),
	}
}

func runMessages(ctx context.Context, to client.Connection) error {
	shops, tickets, volumes := kinform.Open(to, Shops), kinform.Open(to, Configs), kinform.Open(to, Volumes)
	now, err := client.New(to, Configs, client.Options{Namespace: namespace})
	if err != nil {
		return err
	}
	c := controller.New("messages", func(ctx context.Context, key kinform.Key) error {
		shop, ok := shops.Cached(key)
		if !ok {
			return nil
		}
		shop, done, err := controller.Finalize(ctx, shops, shop, finalizer, func(context.Context, *Shop) error { return nil })
		if done || err != nil {
			return err
		}
		ticket, err := ticketOf(ctx, shop, now)
		if err == nil && ticket == nil {
			ticket = &Config{}
			ticket.Namespace, ticket.GenerateName = shop.Namespace, "ticket-"
			ticket.Labels = map[string]string{"shop": string(shop.UID)}
			if err := controller.SetController(ticket, shop, Shops); err != nil {
				return err
			}
			ticket, err = tickets.Create(ctx, ticket, metav1.CreateOptions{})
		}
		if err == nil {
			_, err = shops.Update(ctx, shop, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		}
		if err == nil {
			err = mailbox(ctx, shop, volumes)
		}
		if err != nil {
			return err
		}
		_, err = controller.PatchStatus(ctx, shops, shop, func(s *Shop) {
			s.Status.Phase = "has the ticket " + ticket.Name + " now"
			s.Status.ObservedGeneration = shop.Generation
		})
		return err
	})
	controller.For(c, shops)
	controller.Owns(c, shops, tickets)
	controller.Owns(c, shops, volumes)
	return c.Run(ctx)
}

// mailbox makes a Volume with the UID of a Shop.
func mailbox(ctx context.Context, shop *Shop, volumes *kinform.Handle[*Volume]) error {
	box := &Volume{}
	box.Namespace, box.Name = shop.Namespace, "mailbox-"+string(shop.UID)
	_, _, err := controller.CreateOrUpdate(ctx, volumes, box, func(box *Volume) error {
		box.Data = map[string]string{"url": "https://" + shop.Spec.Host + "/" + string(shop.UID) + "/mail"}
		return controller.SetController(box, shop, Shops)
	})
	return err
}
