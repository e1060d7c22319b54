package informer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"testing"
	"testing/synctest"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
)

// line is a source with an empty list and a watch that brings what is sent to it. It keeps
// no object.
type line chan reflector.Event[*widget]

func (line) Resource() string { return "widgets" }

func (line) List(context.Context, metav1.ListOptions, func(reflector.Event[*widget], error) bool) (metav1.ListMeta, error) {
	return metav1.ListMeta{ResourceVersion: "1"}, nil
}

func (l line) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[reflector.Event[*widget], error] {
	return func(yield func(reflector.Event[*widget], error) bool) {
		if opts.SendInitialEvents != nil {
			yield(reflector.Event[*widget]{}, errors.ErrUnsupported)
			return
		}
		for {
			select {
			case ev := <-l:
				if !yield(ev, nil) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// TestEmptiedInformerKeepsNothing: once all objects are deleted and the handlers wait for
// more, nothing keeps an object alive, however a handler has left in the meantime, though
// its Registration is kept.
func TestEmptiedInformerKeepsNothing(t *testing.T) {
	const objects = 150 // in one block of the log with their deletions
	ways := map[string]func(*informer.Informer[key, *widget], chan struct{}) *informer.Registration{
		"none leaves": func(*informer.Informer[key, *widget], chan struct{}) *informer.Registration { return nil },
		"removed": func(inf *informer.Informer[key, *widget], _ chan struct{}) *informer.Registration {
			return must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(informer.Event[key, *widget]) {}), handlerOptions{}))(t)
		},
		"removed in its callback": func(inf *informer.Informer[key, *widget], goOn chan struct{}) (reg *informer.Registration) {
			reg = must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(informer.Event[key, *widget]) {
				<-goOn
				reg.Remove()
			}), handlerOptions{}))(t)
			return reg
		},
		"loop": func(inf *informer.Informer[key, *widget], goOn chan struct{}) *informer.Registration {
			go func() {
				for range inf.Events(context.Background(), handlerOptions{}) {
					<-goOn
					return
				}
			}()
			return nil
		},
	}
	for name, add := range ways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := make(line)
				inf := newInformer(t, src, informer.Options[*widget]{})
				must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(informer.Event[key, *widget]) {}), handlerOptions{}))(t)
				defer run(t, inf)()
				goOn := make(chan struct{})
				reg := add(inf, goOn)
				synctest.Wait()
				made := supply(src, objects)
				synctest.Wait()
				close(goOn)
				if reg != nil {
					reg.Remove()
				}
				synctest.Wait()
				empty(src, objects)
				synctest.Wait()
				if n := inf.Store().Len(); n != 0 {
					t.Fatalf("%d objects in the store", n)
				}
				runtime.GC()
				alive := 0
				for _, w := range made {
					if w.Value() != nil {
						alive++
					}
				}
				if alive > 0 {
					t.Errorf("%d of %d deleted objects are alive", alive, objects)
				}
				runtime.KeepAlive(reg)
			})
		})
	}
}

// supply adds objects.
func supply(src line, n int) (made []weak.Pointer[widget]) {
	for i := range n {
		w := newWidget("a", fmt.Sprint("w", i), "n")
		w.ResourceVersion = fmt.Sprint(i + 2)
		made = append(made, weak.Make(w))
		src <- reflector.Event[*widget]{Type: reflector.Added, ResourceVersion: w.ResourceVersion, Object: w}
	}
	return made
}

// empty deletes them, with their own final states. No bookmark follows.
func empty(src line, n int) {
	for i := range n {
		w := newWidget("a", fmt.Sprint("w", i), "n")
		w.ResourceVersion = fmt.Sprint(n + i + 2)
		src <- reflector.Event[*widget]{Type: reflector.Deleted, ResourceVersion: w.ResourceVersion, Object: w}
	}
}
