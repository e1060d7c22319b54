package fake_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientfake "k8s.io/client-go/kubernetes/fake"

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
			client := clientfake.NewClientset()
			createAndWatch(b, client.CoreV1().Pods("a").Create, func() watch.Interface {
				return must(client.CoreV1().Pods("a").Watch(b.Context(), metav1.ListOptions{}))(b)
			})
		}
	})
	b.Run("client-go simple", func(b *testing.B) {
		for b.Loop() {
			client := clientfake.NewSimpleClientset() //nolint:staticcheck // the one without managed fields, to be fair
			createAndWatch(b, client.CoreV1().Pods("a").Create, func() watch.Interface {
				return must(client.CoreV1().Pods("a").Watch(b.Context(), metav1.ListOptions{}))(b)
			})
		}
	})
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
		client := clientfake.NewSimpleClientset(objects...) //nolint:staticcheck // as above
		for b.Loop() {
			if n := len(must(client.CoreV1().Pods("").List(b.Context(), metav1.ListOptions{}))(b).Items); n != manyPods {
				b.Fatal(n)
			}
		}
	})
}
