package fake_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	fakecore "k8s.io/client-go/kubernetes/typed/core/v1/fake"
	clientgotesting "k8s.io/client-go/testing"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/reflector"
)

const manyPods = 10_000

// BenchmarkCreateAndWatch creates 10,000 pods that one watch receives. client-go's fake
// has room for 100 events and panics when there are more, so its creates wait for the
// watch. NewClientset keeps managed fields and takes most of a minute for one round; the
// deprecated NewSimpleClientset does not.
func BenchmarkCreateAndWatch(b *testing.B) {
	b.Run("kinform", func(b *testing.B) {
		for b.Loop() {
			s := newServer(b)
			src := must(fake.NewSource[*corev1.Pod](s, fake.Selection{}))(b)
			rv := s.ResourceVersion()
			done := make(chan int)
			go func() {
				n := 0
				for ev := range src.Watch(b.Context(), metav1.ListOptions{ResourceVersion: rv}) {
					if ev.Type == reflector.Added {
						if n++; n == manyPods {
							break
						}
					}
				}
				done <- n
			}()
			for i := range manyPods {
				must(fake.Create(s, pod("a", fmt.Sprintf("p%05d", i))))(b)
			}
			<-done
		}
	})
	b.Run("client-go", func(b *testing.B) {
		for b.Loop() {
			client := clientset(b, clientgotesting.NewFieldManagedObjectTracker(
				scheme.Scheme, scheme.Codecs.UniversalDecoder(), applyconfigurations.NewTypeConverter(scheme.Scheme)))
			createAndWatch(b, client.Pods("a").Create, func() watch.Interface {
				return must(client.Pods("a").Watch(b.Context(), metav1.ListOptions{}))(b)
			})
		}
	})
	b.Run("client-go simple", func(b *testing.B) {
		for b.Loop() {
			client := clientset(b, simpleTracker()) // the one without managed fields, to be fair
			createAndWatch(b, client.Pods("a").Create, func() watch.Interface {
				return must(client.Pods("a").Watch(b.Context(), metav1.ListOptions{}))(b)
			})
		}
	})
}

// clientset returns what client-go's fake clientset has for the core group, made as NewClientset
// and NewSimpleClientset make it. Their package would compile the fakes of all groups.
func clientset(b *testing.B, tracker clientgotesting.ObjectTracker, objects ...runtime.Object) typedcore.CoreV1Interface {
	b.Helper()
	for _, o := range objects {
		check(b, tracker.Add(o))
	}
	f := &clientgotesting.Fake{}
	f.AddReactor("*", "*", clientgotesting.ObjectReaction(tracker))
	f.AddWatchReactor("*", func(a clientgotesting.Action) (bool, watch.Interface, error) {
		w, err := tracker.Watch(a.GetResource(), a.GetNamespace(), a.(clientgotesting.WatchActionImpl).ListOptions)
		return err == nil, w, err
	})
	return &fakecore.FakeCoreV1{Fake: f}
}

func simpleTracker() clientgotesting.ObjectTracker {
	return clientgotesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())
}

func createAndWatch(b *testing.B, create func(context.Context, *corev1.Pod, metav1.CreateOptions) (*corev1.Pod, error), open func() watch.Interface) {
	w := open()
	defer w.Stop()
	// Never more than the watch has room for.
	room := make(chan struct{}, 50)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range manyPods {
			<-w.ResultChan()
			<-room
		}
	}()
	for i := range manyPods {
		room <- struct{}{}
		must(create(b.Context(), pod("a", fmt.Sprintf("p%05d", i)), metav1.CreateOptions{}))(b)
	}
	<-done
}

// BenchmarkList lists 10,000 pods.
func BenchmarkList(b *testing.B) {
	var objects []runtime.Object
	s := newServer(b)
	for i := range manyPods {
		p := pod("a", fmt.Sprintf("p%05d", i))
		objects = append(objects, p)
		must(fake.Create(s, p))(b)
	}
	b.Run("kinform", func(b *testing.B) {
		for b.Loop() {
			if n := len(must(fake.List[*corev1.Pod](s, fake.Selection{}))(b)); n != manyPods {
				b.Fatal(n)
			}
		}
	})
	b.Run("client-go", func(b *testing.B) {
		client := clientset(b, simpleTracker(), objects...)
		for b.Loop() {
			if n := len(must(client.Pods("").List(b.Context(), metav1.ListOptions{}))(b).Items); n != manyPods {
				b.Fatal(n)
			}
		}
	})
}
