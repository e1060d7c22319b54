package informer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/shard"
	"github.com/kinform/kinform/store"
)

// bundles is a source whose server makes transactions: one version for changes of several objects.
// Its watches break off, or end in order, after any event. If it forgets its history now and then,
// it makes only the transactions of Kubernetes: one change, or several deletions.
type bundles struct {
	mu      sync.Mutex
	rng     *rand.Rand
	changes []reflector.Event[*widget]
	rv      int
	gone    int           // the server has no history up to this version
	faulty  bool          // watches end early
	forgets bool          // gone grows
	changed chan struct{} // closed by a transaction
	asked   int           // requests
}

// write changes up to six objects in one transaction.
func (b *bundles) write() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rv += 1 + b.rng.IntN(2)
	now, deletes, rv := b.contents(), b.rng.IntN(2) == 0, strconv.Itoa(b.rv)
	for i, n := range b.rng.Perm(12)[:1+b.rng.IntN(6)] {
		name := string(rune('a' + n))
		old, had := now[name]
		if b.forgets && i > 0 && !(had && deletes) {
			break
		}
		ev := reflector.Event[*widget]{Type: reflector.Modified, ResourceVersion: rv}
		switch {
		case !had:
			ev.Type, ev.Object = reflector.Added, metaOf(name, fmt.Sprintf("%x", b.rng.Uint64()), rv, strconv.Itoa(b.rng.Int()))
		case deletes:
			ev.Type, ev.Object = reflector.Deleted, metaOf(name, string(old.UID), rv, old.Labels["l"])
		default:
			ev.Object = metaOf(name, string(old.UID), rv, strconv.Itoa(b.rng.Int()))
		}
		b.changes = append(b.changes, ev)
		if b.forgets && ev.Type != reflector.Deleted {
			break
		}
	}
	if b.forgets && b.rng.IntN(2) == 0 {
		b.gone = b.rv - b.rng.IntN(2)
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// contents returns the objects. The caller holds mu.
func (b *bundles) contents() map[string]*widget {
	all := map[string]*widget{}
	for _, ev := range b.changes {
		if all[ev.Object.Name] = ev.Object; ev.Type == reflector.Deleted {
			delete(all, ev.Object.Name)
		}
	}
	return all
}

// after returns the changes after version rv. The caller holds mu.
func (b *bundles) after(rv int) []reflector.Event[*widget] {
	n := slices.IndexFunc(b.changes, func(ev reflector.Event[*widget]) bool {
		version, _ := strconv.Atoi(ev.ResourceVersion)
		return version > rv
	})
	if n < 0 {
		return nil
	}
	return b.changes[n:]
}

func (b *bundles) random(n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rng.IntN(n)
}

func (b *bundles) Resource() string { return "things.example.com" }

func (b *bundles) List(_ context.Context, opts metav1.ListOptions, yield func(reflector.Event[*widget], error) bool) (metav1.ListMeta, error) {
	b.mu.Lock()
	b.asked++
	all, page := b.contents(), metav1.ListMeta{ResourceVersion: strconv.Itoa(b.rv)}
	b.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if opts.FieldSelector != "" && !strings.HasPrefix(opts.FieldSelector, "metadata.name="+name+",") {
			continue
		}
		if !yield(reflector.Event[*widget]{Type: reflector.Added, ResourceVersion: all[name].ResourceVersion, Object: all[name]}, nil) {
			return metav1.ListMeta{}, reflector.ErrListStopped
		}
	}
	return page, nil
}

func (b *bundles) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[*widget], error] {
	return func(yield func(reflector.Event[*widget], error) bool) {
		began, _ := strconv.Atoi(opts.ResourceVersion)
		ends := time.After(time.Duration(*opts.TimeoutSeconds) * time.Second)
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.asked++; began < b.gone {
			yield(reflector.Event[*widget]{}, apierrors.NewResourceExpired("gone"))
			return
		}
		for sent := 0; ; {
			for _, ev := range b.after(began)[sent:] {
				if sent++; !yield(ev, nil) {
					return
				}
				switch b.rng.IntN(8) {
				case 0:
					if b.faulty {
						yield(reflector.Event[*widget]{}, io.ErrUnexpectedEOF)
						return
					}
				case 1:
					if b.faulty {
						b.mu.Unlock()
						<-ends
						b.mu.Lock()
						return
					}
				}
			}
			changed := b.changed
			b.mu.Unlock()
			select {
			case <-changed:
				b.mu.Lock()
				continue
			case <-ends:
			case <-ctx.Done():
			}
			b.mu.Lock()
			return
		}
	}
}

// TestTransactions ends watches amid the events of a version. No event may be lost, or look like an
// event of a restored server, and handlers get nothing without a difference.
func TestTransactions(t *testing.T) {
	even := func(p *widget) bool { l := p.Labels["l"]; return (l[len(l)-1]-'0')%2 == 0 }
	all := func(*widget) bool { return true }
	shard := must1(shard.Even(0, 2))(t)
	inShard := func(p *widget) bool {
		return must1(shard.Matches(&metav1.PartialObjectMetadata{ObjectMeta: p.ObjectMeta}))(t)
	}
	same := func(p *widget) (*widget, error) { return p, nil }
	label := func(p *widget) (projection, error) {
		return &projected{Key: key{Namespace: "n", Name: p.Name}, Text: p.Labels["l"]}, nil
	}
	for seed := range uint64(40) {
		for _, trust := range []bool{false, true} {
			bubble := func(name string, test func(t *testing.T, b *bundles)) {
				t.Run(fmt.Sprintf("%s/trust=%v/%d", name, trust, seed), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						test(t, &bundles{rng: rand.New(rand.NewPCG(seed, 15)), rv: 1, forgets: seed%2 == 0, changed: make(chan struct{})})
					})
				})
			}
			bubble("whole", func(t *testing.T, b *bundles) { transactions(t, b, trust, b, store.ObjectKey, all, same) })
			bubble("filter", func(t *testing.T, b *bundles) {
				transactions(t, b, trust, reflector.Filter(b, even), store.ObjectKey, even, same)
			})
			bubble("shard", func(t *testing.T, b *bundles) {
				transactions(t, b, trust, must1(reflector.Shard(b, shard))(t), store.ObjectKey, inShard, same)
			})
			bubble("projection", func(t *testing.T, b *bundles) {
				transactions(t, b, trust, reflector.Map(b, label), projection.key, all, label)
			})
		}
	}
}

func transactions[T any](t *testing.T, b *bundles, trust bool, src reflector.Source[T], keyOf store.KeyFunc[key, T],
	keep func(*widget) bool, project func(*widget) (T, error)) {
	inf, err := informer.New(src, keyOf, informer.Options[T]{
		Reflector: reflector.Tuning{DisableWatchList: true, TrustVersions: trust, WatchTimeout: 10 * time.Second},
		OnError: func(err error) {
			if errors.Is(err, reflector.ErrRestored) {
				t.Error(err)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := historiesOf(t, inf)
	must1(inf.AddHandler(informer.HandlerFunc[key, T](func(ev informer.Event[key, T]) {
		if ev.Type == informer.Updated && reflect.DeepEqual(ev.Old, ev.Object) {
			t.Errorf("%s is updated without a difference", ev.Key)
		}
	}), informer.HandlerOptions[T]{}))(t)
	b.faulty = true
	stop := run(t, inf)
	for range 20 {
		b.write()
		time.Sleep(time.Duration(b.random(5)) * time.Second)
	}
	b.mu.Lock()
	b.faulty = false
	b.mu.Unlock()
	time.Sleep(5 * time.Minute)
	synctest.Wait()
	want, got := map[key]T{}, map[key]T{}
	for name, p := range b.contents() {
		if keep(p) {
			want[key{Namespace: "n", Name: name}] = must1(project(p))(t)
		}
	}
	for k, obj := range inf.Store().All() {
		got[k] = obj
	}
	if !reflect.DeepEqual(want, got) {
		t.Errorf("the cache is %v, and the server has %v", got, want)
	}
	stop()
	if err := seen.Err(); err != nil {
		t.Error(err)
	}
	if b.asked > 300 {
		t.Errorf("%d requests", b.asked)
	}
}
