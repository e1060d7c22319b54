package ops

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// listWatch is a feed as a cache.ListerWatcher.
type listWatch struct {
	feed  *feed
	items []runtime.Object
}

func newListWatch(f *feed) *listWatch {
	lw := &listWatch{feed: f, items: make([]runtime.Object, len(f.pods))}
	for i, p := range f.pods {
		lw.items[i] = p
	}
	return lw
}

// IsWatchListSemanticsUnSupported makes a reflector list and then watch.
func (lw *listWatch) IsWatchListSemanticsUnSupported() bool { return !lw.feed.streams }

// List implements cache.ListerWatcher.
func (lw *listWatch) List(opts metav1.ListOptions) (runtime.Object, error) {
	return lw.ListWithContext(context.Background(), opts)
}

// Watch implements cache.ListerWatcher.
func (lw *listWatch) Watch(opts metav1.ListOptions) (watch.Interface, error) {
	return lw.WatchWithContext(context.Background(), opts)
}

// ListWithContext implements cache.ListerWatcherWithContext.
func (lw *listWatch) ListWithContext(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return &metainternal.List{
		ListMeta: metav1.ListMeta{ResourceVersion: lw.feed.answer()},
		Items:    lw.items,
	}, nil
}

// WatchWithContext implements cache.ListerWatcherWithContext. If there will be no events, it
// starts no goroutine to send them.
func (lw *listWatch) WatchWithContext(_ context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	s := &stream{result: make(chan watch.Event), stop: make(chan struct{}), done: make(chan struct{})}
	if lw.feed.send == nil {
		close(s.done)
		return s, nil
	}
	go s.run(lw.feed, opts.SendInitialEvents != nil)
	return s, nil
}

// stream is a watch like apimachinery's StreamWatcher: a goroutine and an unbuffered channel.
type stream struct {
	result     chan watch.Event
	stop, done chan struct{}
	stopped    bool // Stop is called by one goroutine
}

func (s *stream) ResultChan() <-chan watch.Event { return s.result }

func (s *stream) Stop() {
	if !s.stopped {
		s.stopped = true
		close(s.stop)
		<-s.done
	}
}

func (s *stream) run(f *feed, initial bool) {
	defer close(s.done)
	if initial && !s.initial(f) {
		return
	}
	for {
		select {
		case <-s.stop:
			return
		case <-f.expire:
			status := apierrors.NewResourceExpired("too old").Status()
			s.event(watch.Event{Type: watch.Error, Object: &status})
		case b := <-f.send:
			for i, p := range b.pods {
				if b.before != nil {
					b.before(i)
				}
				if !s.event(watch.Event{Type: watch.Modified, Object: p}) {
					return
				}
			}
		}
	}
}

// initial sends the events that a streaming list begins with.
func (s *stream) initial(f *feed) bool {
	end := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: f.answer(),
		Annotations:     map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}
	for _, p := range f.pods {
		if !s.event(watch.Event{Type: watch.Added, Object: p}) {
			return false
		}
	}
	return s.event(watch.Event{Type: watch.Bookmark, Object: end})
}

func (s *stream) event(ev watch.Event) bool {
	select {
	case s.result <- ev:
		return true
	case <-s.stop:
		return false
	}
}
