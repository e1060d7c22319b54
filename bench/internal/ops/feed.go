package ops

import (
	"context"
	"iter"
	"math/rand/v2"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/reflector"
)

// batch is the next batch of events of a watch.
type batch struct {
	pods   []*corev1.Pod
	before func(i int) (last bool) // called before the i-th is sent, whether none is due after it; nil for nothing
}

// feed stands for a server whose objects are decoded already. It is a Source; listWatch turns
// it into a ListerWatcher. It serves one informer.
type feed struct {
	pods []*corev1.Pod
	rv   int // of a list; not written during a list

	streams  bool // the list comes as the beginning of a watch (WatchList)
	unmarked bool // no event has Idle set; not written after the start

	send   chan batch    // events for the watch; nil if there will be none
	expire chan struct{} // ends the watch with 410

	// Every list but the first announces on relisting that it is about to answer, and waits
	// for proceed.
	relisting, proceed chan struct{}
	lists              int // owned by the listing goroutine
}

func newFeed(all []*corev1.Pod) *feed {
	return &feed{
		pods:      all,
		rv:        len(all) + 1,
		send:      make(chan batch),
		expire:    make(chan struct{}),
		relisting: make(chan struct{}),
		proceed:   make(chan struct{}),
	}
}

// newStream returns a feed whose list is a streaming one.
func newStream(all []*corev1.Pod) *feed {
	f := newFeed(all)
	f.streams = true
	return f
}

// answer is called when a list begins, and returns its resourceVersion.
func (f *feed) answer() string {
	if f.lists++; f.lists > 1 {
		f.relisting <- struct{}{}
		<-f.proceed
	}
	return strconv.Itoa(f.rv)
}

// Resource implements reflector.Source.
func (f *feed) Resource() string { return "pods" }

// List implements reflector.Source.
func (f *feed) List(_ context.Context, _ metav1.ListOptions, yield func(reflector.Event[*corev1.Pod], error) bool) (metav1.ListMeta, error) {
	meta := metav1.ListMeta{ResourceVersion: f.answer()}
	for _, p := range f.pods {
		if !yield(reflector.Event[*corev1.Pod]{Type: reflector.Added, ResourceVersion: p.ResourceVersion, Object: p}, nil) {
			return meta, reflector.ErrListStopped
		}
	}
	return meta, nil
}

// Watch implements reflector.Source.
func (f *feed) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[*corev1.Pod], error] {
	return func(yield func(reflector.Event[*corev1.Pod], error) bool) {
		if opts.SendInitialEvents != nil && !f.initial(yield) {
			return
		}
		for {
			select {
			case <-ctx.Done():
				return
			case <-f.expire:
				yield(reflector.Event[*corev1.Pod]{}, apierrors.NewResourceExpired("too old"))
				return
			case b := <-f.send:
				for i, p := range b.pods {
					last := i == len(b.pods)-1
					if b.before != nil {
						last = b.before(i)
					}
					if !yield(reflector.Event[*corev1.Pod]{Type: reflector.Modified, Idle: last && !f.unmarked, ResourceVersion: p.ResourceVersion, Object: p}, nil) {
						return
					}
				}
			}
		}
	}
}

// initial sends the events that a streaming list begins with.
func (f *feed) initial(yield func(reflector.Event[*corev1.Pod], error) bool) bool {
	end := reflector.Event[*corev1.Pod]{Type: reflector.Bookmark, InitialEventsEnd: true, ResourceVersion: f.answer()}
	for _, p := range f.pods {
		if !yield(reflector.Event[*corev1.Pod]{Type: reflector.Added, ResourceVersion: p.ResourceVersion, Object: p}, nil) {
			return false
		}
	}
	return yield(end, nil)
}

// maxUpdates is how many pods are updated in turns, and the longest run of updates.
const maxUpdates = 1 << 15

// updates are ever newer states of some of a feed's pods. Each pod has two alternating
// objects: the one that is not in the store can be written to, once the handlers are done with
// it.
type updates struct {
	feed  *feed
	state [2][]*corev1.Pod
	sent  int
}

func (w *World) newUpdates(f *feed) *updates {
	u := &updates{feed: f, state: [2][]*corev1.Pod{w.Fleet.Copies(maxUpdates), w.Fleet.Copies(maxUpdates)}}
	rand.New(rand.NewPCG(seed, 4)).Shuffle(u.turn(), func(i, j int) {
		for _, s := range u.state {
			s[i], s[j] = s[j], s[i]
		}
	})
	return u
}

// turn is the number of pods.
func (u *updates) turn() int { return len(u.state[0]) }

// next returns up to n updates of different pods. The previous updates must have been handled.
func (u *updates) next(n int) []*corev1.Pod {
	from := u.sent % u.turn()
	some := u.state[u.sent/u.turn()%2][from:min(from+n, u.turn())]
	for _, p := range some {
		u.feed.rv++
		p.ResourceVersion = strconv.Itoa(u.feed.rv)
	}
	u.sent += len(some)
	return some
}
