package planted

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/shard/leader"
)

// namespace is where all objects are.
const namespace = "prod"

// finalizer is the controllers' own.
const finalizer = "example.com/cleanup"

func keyOf(name string) kinform.Key { return kinform.Key{Namespace: namespace, Name: name} }

func keyOfObject(obj metav1.Object) kinform.Key {
	return kinform.Key{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// newServer returns a server with the kinds of this package, and with a garbage collector.
func newServer() *fake.Server {
	server := fake.New(fake.Options{CollectGarbage: true})
	for _, err := range []error{
		fake.Register(server, Shops, fake.Rules{}), fake.Register(server, Configs, fake.Rules{}),
		fake.Register(server, Volumes, fake.Rules{}), fake.Register(server, leader.Kind, fake.Rules{}),
	} {
		if err != nil {
			panic(err) // the kinds are this package's own
		}
	}
	return server
}

// candidate has longer times than usual, so that most requests of a schedule are not about the lease.
func candidate(identity string) leader.Options {
	return leader.Options{
		Namespace: namespace, Name: "shops", Identity: identity,
		LeaseDuration: 30 * time.Second, RenewDeadline: 20 * time.Second, RetryPeriod: 8 * time.Second,
	}
}

// cloud is a system outside the API server: a DNS, or a provider of load balancers. It keeps records by id.
type cloud struct {
	mu      sync.Mutex
	records map[string]string
}

func newCloud() *cloud { return &cloud{records: map[string]string{}} }

func (c *cloud) set(id, record string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.records[id] = record
}

func (c *cloud) remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.records, id)
}

func (c *cloud) all() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.records)
}

// fits says that the cloud has a record for each Shop, of its host, and no others. id is the id of a Shop's record.
func (c *cloud) fits(w *sim.World, id func(*Shop) string) error {
	shops, err := fake.List[*Shop](w.Server, fake.Selection{})
	if err != nil {
		return err
	}
	left := c.all()
	for _, shop := range shops {
		if got := left[id(shop)]; got != shop.Spec.Host {
			return fmt.Errorf("the cloud has the host %q for shop %s, want %q", got, shop.Name, shop.Spec.Host)
		}
		delete(left, id(shop))
	}
	if len(left) > 0 {
		return fmt.Errorf("the cloud has %d records of shops that are gone", len(left))
	}
	return nil
}

// byUID names records after the UID of a Shop, so that another Shop of the name has another one.
func byUID(shop *Shop) string { return string(shop.UID) }

// shopOf returns the Shop of a name.
func shopOf(w *sim.World, name string) (*Shop, error) { return fake.Get[*Shop](w.Server, keyOf(name)) }

// step is one thing that users do.
type step func(w *sim.World) error

// script is what users do, in order.
func script(steps ...step) func(*sim.World) error {
	return func(w *sim.World) error {
		for i, do := range steps {
			if err := do(w); err != nil {
				return fmt.Errorf("step %d of the users: %w", i+1, err)
			}
		}
		return nil
	}
}

func settle(w *sim.World) error {
	w.Settle()
	return nil
}

func wait(d time.Duration) step {
	return func(w *sim.World) error {
		w.Wait(d)
		return nil
	}
}

func create(name string, spec ShopSpec) step {
	return func(w *sim.World) error {
		_, err := fake.Create(w.Server, fake.Object(&Shop{Spec: spec}, namespace, name))
		return err
	}
}

// patch changes a Shop.
func patch(name, merge string) step {
	return func(w *sim.World) error {
		_, err := fake.Patch[*Shop](w.Server, keyOf(name), []byte(merge))
		return err
	}
}

// remove deletes a Shop.
func remove(name string) step {
	return func(w *sim.World) error {
		_, err := fake.Delete[*Shop](w.Server, keyOf(name))
		return err
	}
}

// gone waits until a Shop is gone.
func gone(name string) step {
	return until("shop "+name+" is gone", func(w *sim.World) error {
		_, err := fake.Get[*Shop](w.Server, keyOf(name))
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there, %v", err)
	})
}

// until waits until is returns nil, for an hour at most.
func until(what string, is func(w *sim.World) error) step {
	return func(w *sim.World) error {
		err := is(w)
		for range 360 {
			if err == nil {
				return nil
			}
			w.Wait(10 * time.Second)
			err = is(w)
		}
		return fmt.Errorf("after an hour, it is not so that %s: %w", what, err)
	}
}

// owned returns an object of the name of a Shop, and of its namespace.
func owned(shop *Shop) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: shop.Namespace, Name: shop.Name}
}

// setFinalizer adds the finalizer to a Shop that lacks it, or removes it.
func setFinalizer(ctx context.Context, shops *kinform.Handle[*Shop], shop *Shop, want bool) (*Shop, error) {
	if (len(shop.Finalizers) > 0) == want {
		return shop, nil
	}
	shop = shop.DeepCopy()
	shop.Finalizers = nil
	if want {
		shop.Finalizers = []string{finalizer}
	}
	return shops.Update(ctx, shop, metav1.UpdateOptions{})
}
