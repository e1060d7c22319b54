package ops

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/bench/internal/measure"
	"github.com/kinform/kinform/bench/internal/pods"
	"github.com/kinform/kinform/index"
)

// item is an object without a pod's weight, so that a million of them fit into memory.
type item struct {
	metav1.ObjectMeta
	node, app string
}

var (
	itemNode = index.New("node", func(dst []string, x *item) []string { return append(dst, x.node) })
	itemApp  = index.New("app", func(dst []string, x *item) []string { return append(dst, x.app) })
	itemNS   = index.Namespace[*item]()
)

// crowd is a shelf with indexes that have handles.
type crowd struct {
	*shelf
	nodes []string
}

// Growing returns operations on stores of n small objects. The operations share the stores:
// the first one makes them, and they are freed with the last reference to the operations. Each
// works on one object, or reports per object, so its cost could be the same for any n.
func Growing(n int) []measure.Op {
	full := sync.OnceValues(func() (*crowd, error) { return newCrowd(n) })
	op := func(name, title string, sides func(*crowd) measure.Sides) measure.Op {
		return measure.Op{
			Name:  fmt.Sprintf("growth/%s/objects=%d", name, n),
			Lines: line(title, measure.Nanoseconds, 0),
			Setup: func() (measure.Sides, error) {
				c, err := full()
				if err != nil {
					return measure.Sides{}, err
				}
				return sides(c), nil
			},
		}
	}
	return []measure.Op{
		op("get", "get", (*crowd).get),
		op("get-cold", "get of a cold key", (*crowd).getCold),
		op("update", "update, 3 indexes", (*crowd).setSame),
		op("update-new", "update just made, 3 indexes", (*crowd).setNew),
		op("update-64", "update just made, of 64 in a commit, 3 indexes", (*crowd).commitNew),
		op("by-index", "100 objects by index", (*crowd).byIndex),
		op("walk", "walk all, per object", (*crowd).walk),
	}
}

func newCrowd(n int) (*crowd, error) {
	items, keys, nodes := newItems(n)
	s, err := newShelf(items, keys, []index.Definition[*item]{itemNode, itemNS, itemApp}, cache.Indexers{
		"node":               func(obj any) ([]string, error) { return []string{obj.(*item).node}, nil },
		"app":                func(obj any) ([]string, error) { return []string{obj.(*item).app}, nil },
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	})
	return &crowd{s, nodes}, err
}

// newItems returns n items, their keys in another order, and the names of all nodes.
func newItems(n int) (items []*item, keys []key, nodes []string) {
	items, keys = make([]*item, n), make([]key, n)
	nodes = make([]string, max(n/pods.PerNode, 1))
	for i := range items {
		at := scatter(i, n)
		k := key{Namespace: "namespace-" + strconv.Itoa(at%max(n/pods.PerNamespace, 1)), Name: "object-" + strconv.Itoa(at)}
		items[i] = &item{
			ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Name, ResourceVersion: strconv.Itoa(i + 1)},
			node:       "node-" + strconv.Itoa(at%len(nodes)),
			app:        "app-" + strconv.Itoa(at/pods.PerApp),
		}
		keys[scatter(at, n)] = k
		nodes[at%len(nodes)] = items[i].node
	}
	return items, keys, nodes
}

func (c *crowd) get() measure.Sides {
	return measure.Sides{
		Kinform: measure.Side{Run: loop(func(i int) error {
			_, ok := c.kinform.Get(c.keys[i%len(c.keys)])
			return found(btoi(ok), 1)
		})},
		// A lister does the same.
		ClientGo: measure.Side{Run: loop(func(i int) error {
			k := &c.keys[i%len(c.keys)]
			_, ok, _ := c.peer.GetByKey(k.Namespace + "/" + k.Name)
			return found(btoi(ok), 1)
		})},
	}
}

func (c *crowd) byIndex() measure.Sides {
	return measure.Sides{
		Kinform: measure.Side{Run: loop(func(i int) error {
			return found(len(itemNode.Get(c.kinform, c.nodes[scatter(i, len(c.nodes))])), pods.PerNode)
		})},
		ClientGo: measure.Side{Run: loop(func(i int) error {
			objs, err := c.peer.ByIndex("node", c.nodes[scatter(i, len(c.nodes))])
			if err != nil {
				return err
			}
			return found(len(objs), pods.PerNode)
		})},
	}
}

// walk reports per object, though an operation is a walk over all of them.
func (c *crowd) walk() measure.Sides {
	n := len(c.items)
	perObject := func(walk func() int) func(measure.Meter, int) error {
		return func(m measure.Meter, times int) error {
			start := time.Now()
			for range times {
				if err := found(walk(), n); err != nil {
					return err
				}
			}
			m.ReportMetric(float64(time.Since(start))/float64(times)/float64(n), measure.Nanoseconds)
			return nil
		}
	}
	return measure.Sides{
		Kinform: measure.Side{Run: perObject(func() (seen int) {
			for chunk := range c.kinform.Chunks() {
				for _, x := range chunk {
					seen += btoi(x.node != "")
				}
			}
			return seen
		})},
		ClientGo: measure.Side{Run: perObject(func() (seen int) {
			for _, obj := range c.peer.List() {
				seen += btoi(obj.(*item).node != "")
			}
			return seen
		})},
	}
}
