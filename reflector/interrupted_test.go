package reflector

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/internal/picking"
)

// The list for what has come meets a server that is being restored: it answers 503 or 429. The watch goes on, on
// the restored server, which was never asked for its history.
func TestRestoredWhileMovingListFails(t *testing.T) {
	for _, words := range []string{"unavailable", "busy", "refused unavailable", "eof", ""} {
		for _, moves := range []bool{true, false} {
			t.Run(fmt.Sprint(words, moves), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := sixObjects(course{lasts: time.Hour})
					pick(t, server, func(error) {}, func(by *choice, to *chosen, r *Reflector[metaObject]) {
						must(t, by.set("ab"))
						time.Sleep(10 * time.Second)
						backup := server.look().archive
						server.change(func(now *present) { now.write("a", false); now.write("a", false) })
						time.Sleep(10 * time.Second)
						restore := func() {
							server.change(func(now *present) {
								seen := now.at
								now.archive = backup
								now.write("b", false) // at a version that was seen for a
								for now.at < seen+3 {
									now.write("f", false)
								}
								if !moves {
									now.restores++ // the watch breaks
								}
							})
						}
						if moves {
							all := strings.Fields(words)
							if len(all) > 0 {
								server.fail(all[0])
							}
							must(t, by.set("abc"))
							restore()
							if len(all) > 1 {
								time.Sleep(2500 * time.Millisecond)
								server.fail(all[1])
							}
							time.Sleep(4 * time.Second)
							must(t, by.set("ab"))
							time.Sleep(5 * time.Second)
							server.fail("")
						} else {
							restore()
						}
						for range 120 {
							time.Sleep(time.Minute)
							server.change(func(now *present) { now.write("f", false) })
						}
						if got, want := to.contents(), server.selected("ab"); got != want {
							t.Errorf("the sink has\n%s\nand the server\n%s\n%+v", got, want, r.Stats().Relists)
						}
					})
				})
			})
		}
	}
}

// handSource is a source without Breaker whose events a test sends.
type handSource struct {
	mu     sync.Mutex
	list   func() ([]metaObject, string, error)
	events chan func(yield func(Event[metaObject], error) bool) bool
}

// byHand runs test with a source that lists a and b, at version 10.
func byHand(t *testing.T, test func(t *testing.T, src *handSource)) {
	synctest.Test(t, func(t *testing.T) {
		src := &handSource{events: make(chan func(func(Event[metaObject], error) bool) bool)}
		src.lists("10", objectAt("a", "1"), objectAt("b", "2"))
		test(t, src)
	})
}

// lists sets what a list brings from now on.
func (s *handSource) lists(rv string, all ...metaObject) {
	s.set(func() ([]metaObject, string, error) { return all, rv, nil })
}

// refuses makes lists fail.
func (s *handSource) refuses(err error) {
	s.set(func() ([]metaObject, string, error) { return nil, "", err })
}

func (s *handSource) set(list func() ([]metaObject, string, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = list
}

func (s *handSource) Resource() string { return "pods" }
func (s *handSource) List(_ context.Context, opts metav1.ListOptions, yield func(Event[metaObject], error) bool) (metav1.ListMeta, error) {
	s.mu.Lock()
	all, rv, err := s.list()
	s.mu.Unlock()
	if err != nil {
		return metav1.ListMeta{}, err
	}
	for _, o := range all {
		if name, ok := strings.CutPrefix(opts.FieldSelector, "metadata.name="); ok && !strings.HasPrefix(name, o.Name) {
			continue
		}
		if !yield(Event[metaObject]{Type: Added, Object: o, ResourceVersion: o.ResourceVersion}, nil) {
			return metav1.ListMeta{}, ErrListStopped
		}
	}
	return metav1.ListMeta{ResourceVersion: rv}, nil
}
func (s *handSource) Watch(ctx context.Context, opts metav1.ListOptions) iter.Seq2[Event[metaObject], error] {
	return func(yield func(Event[metaObject], error) bool) {
		for {
			select {
			case <-ctx.Done():
				return
			case do := <-s.events:
				if !do(yield) {
					return
				}
			}
		}
	}
}
func (s *handSource) send(typ EventType, o metaObject) {
	s.events <- func(yield func(Event[metaObject], error) bool) bool {
		return yield(Event[metaObject]{Type: typ, Object: o, ResourceVersion: o.ResourceVersion}, nil)
	}
	synctest.Wait()
}
func (s *handSource) fail(err error) {
	s.events <- func(yield func(Event[metaObject], error) bool) bool { yield(Event[metaObject]{}, err); return false }
}
func objectAt(name, rv string) metaObject {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: rv}}
}

// The deletion of an object cannot be read, so a list has to follow. While OnError says so, the selection gets
// more and less again.
func TestUnreadableDeleteWhileSelectionMoves(t *testing.T) {
	for _, moves := range []bool{false, true} {
		t.Run(fmt.Sprint(moves), func(t *testing.T) {
			byHand(t, func(t *testing.T, src *handSource) {
				var by *choice
				pick(t, src, func(err error) {
					var bad *ObjectError
					if errors.As(err, &bad) && moves {
						must(t, by.set("abc"))
						must(t, by.set("ab"))
					}
				}, func(c *choice, to *chosen, r *Reflector[metaObject]) {
					by = c
					must(t, by.set("ab"))
					synctest.Wait()
					src.lists("20", objectAt("a", "1"))
					src.fail(&ObjectError{Resource: "pods", Type: Deleted, ResourceVersion: "20", Err: errors.New("bad")})
					for n := 21; n <= 60; n++ {
						time.Sleep(time.Minute)
						src.send(Modified, objectAt("a", fmt.Sprint(n)))
					}
					if got, want := to.contents(), "a a 60"; got != want {
						t.Errorf("the sink has %q, want %q: %+v", got, want, r.Stats().Relists)
					}
				})
			})
		})
	}
}

// A watch that has worked was interrupted: the one after it that fails is the first that does.
func TestWatchWorksBeforeSelectionMoves(t *testing.T) {
	for _, moves := range []bool{false, true} {
		t.Run(fmt.Sprint(moves), func(t *testing.T) {
			byHand(t, func(t *testing.T, src *handSource) {
				pick(t, src, func(error) {}, func(by *choice, to *chosen, r *Reflector[metaObject]) {
					must(t, by.set("ab"))
					time.Sleep(time.Second)
					src.fail(failure("unavailable", 0)) // a watch fails and has brought nothing
					time.Sleep(time.Minute)
					for n := 16; n < 20; n++ { // the next one works
						src.send(Modified, objectAt("a", fmt.Sprint(n)))
						time.Sleep(time.Minute)
					}
					src.lists("20", objectAt("a", "19"), objectAt("b", "2"))
					if moves {
						must(t, by.set("abc"))
						time.Sleep(time.Second)
					}
					src.fail(failure("unavailable", 0))
					time.Sleep(time.Second)
					if got := r.Stats().Polling; got != (Polling{}) {
						t.Errorf("lists alone keep the sink up to date: %+v", got)
					}
				})
			})
		})
	}
}

// A source without versions: what happens between two watches is lost without a list.
func TestSelectionWithoutVersions(t *testing.T) {
	for _, back := range []bool{false, true} {
		t.Run(fmt.Sprint(back), func(t *testing.T) {
			byHand(t, func(t *testing.T, src *handSource) {
				src.lists("", objectAt("a", ""), objectAt("b", ""))
				pick(t, src, func(error) {}, func(by *choice, to *chosen, r *Reflector[metaObject]) {
					must(t, by.set("ab"))
					time.Sleep(time.Minute)
					src.refuses(failure("unavailable", 0))
					if back {
						must(t, by.set("abc"))
						synctest.Wait()
						must(t, by.set("ab"))
					} else {
						src.fail(failure("eof", 0))
					}
					time.Sleep(time.Minute)
					src.lists("", objectAt("a", "")) // b was deleted between the two watches
					for range 4 {
						time.Sleep(time.Minute)
						src.send(Modified, objectAt("a", ""))
					}
					if got, want := to.contents(), "a a "; got != want {
						t.Errorf("the sink has %q, want %q: %+v", got, want, r.Stats().Relists)
					}
				})
			})
		})
	}
}

// A list was due long ago, and watches have worked since. A doubt about the contents leads to a list.
func TestDoubtAfterSelectionMoves(t *testing.T) {
	for _, expired := range []bool{false, true} {
		t.Run(fmt.Sprint(expired), func(t *testing.T) {
			byHand(t, func(t *testing.T, src *handSource) {
				pick(t, src, func(error) {}, func(by *choice, to *chosen, r *Reflector[metaObject]) {
					must(t, by.set("ab"))
					time.Sleep(time.Minute)
					if expired {
						src.fail(failure("expired", 0))
						time.Sleep(time.Minute)
					}
					for n := 16; n < 20; n++ {
						src.send(Modified, objectAt("b", fmt.Sprint(n)))
						time.Sleep(time.Minute)
					}
					src.lists("20", objectAt("a", "1"), objectAt("b", "19"))
					must(t, by.set("abc"))
					time.Sleep(time.Second)
					// another server has other defaults
					a, b := objectAt("a", "1"), objectAt("b", "19")
					a.Annotations, b.Annotations = map[string]string{"x": "new"}, map[string]string{"x": "new"}
					src.lists("20", a, b)
					src.fail(failure("eof", 0))
					for n := 21; n < 50; n++ {
						time.Sleep(time.Minute)
						src.send(Modified, objectAt("f", fmt.Sprint(n)))
					}
					to.mu.Lock()
					defer to.mu.Unlock()
					if to.has["b"].Annotations["x"] != "new" || to.has["a"].Annotations["x"] != "new" {
						t.Errorf("the sink has old contents: %+v", r.Stats().Relists)
					}
				})
			})
		})
	}
}

// failsOnce is a sink that fails once.
type failsOnce struct {
	chosen
	fails func() error
}

func (s *failsOnce) Apply(ctx context.Context, ev Event[metaObject]) error {
	if err := s.fails(); err != nil {
		return err
	}
	return s.chosen.Apply(ctx, ev)
}

// A sink's own error ends Run, even if the selection has changed meanwhile.
func TestSinkErrorWhileSelectionMoves(t *testing.T) {
	for _, moves := range []bool{false, true} {
		t.Run(fmt.Sprint(moves), func(t *testing.T) {
			byHand(t, func(t *testing.T, src *handSource) {
				by := new(choice)
				broken := errors.New("the sink is broken")
				to := &failsOnce{chosen: chosen{mirror: mirror{has: map[string]metaObject{}}, by: by}}
				to.fails = func() error {
					to.fails = func() error { return nil }
					if moves {
						go func() { must(t, by.set("abc")) }()
						time.Sleep(time.Second)
					}
					return broken
				}
				r, err := New(Select(Source[metaObject](src), picking.Selector[metaObject](by)), Sink[metaObject](to), Options{Tuning: listsOnly, OnError: func(error) {}})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				ended := make(chan error, 1)
				go func() { ended <- r.Run(ctx) }()
				synctest.Wait()
				must(t, by.set("ab"))
				time.Sleep(time.Second)
				src.send(Modified, objectAt("a", "11"))
				if err := <-ended; !errors.Is(err, broken) {
					t.Errorf("Run returned %v, want the sink's error", err)
				}
			})
		})
	}
}

// A list failed, and another one has come since. What comes then does not wait for the first one's wait.
func TestSelectionAfterAnEarlierWait(t *testing.T) {
	byHand(t, func(t *testing.T, src *handSource) {
		whole := []metaObject{objectAt("a", "1"), objectAt("b", "2"), objectAt("c", "3"), objectAt("d", "4")}
		src.lists("10", whole...)
		pick(t, src, func(error) {}, func(by *choice, to *chosen, r *Reflector[metaObject]) {
			must(t, by.set("a"))
			time.Sleep(time.Second)
			src.refuses(failure("busy", 300))
			must(t, by.set("ab"))
			time.Sleep(time.Second)
			src.lists("10", whole...)
			src.fail(failure("expired", 0)) // a list follows, which has b
			time.Sleep(10 * time.Second)
			before := to.contents()
			must(t, by.set("abc"))
			time.Sleep(30 * time.Second)
			if got, want := to.contents(), "a a 1, b b 2, c c 3"; got != want {
				t.Errorf("the sink has %q, want %q (before: %q)", got, want, before)
			}
		})
	})
}

// A server that is busy names a time. A selection that gets more does not bring a request before that.
func TestSelectionMovesWhileServerIsBusy(t *testing.T) {
	byHand(t, func(t *testing.T, src *handSource) {
		pick(t, src, func(error) {}, func(by *choice, to *chosen, r *Reflector[metaObject]) {
			must(t, by.set("ab"))
			time.Sleep(time.Minute)
			src.fail(failure("busy", 30))
			time.Sleep(5 * time.Second)
			src.lists("20", objectAt("a", "1"), objectAt("b", "2"), objectAt("c", "19"))
			lists := r.Stats().Lists
			must(t, by.set("abc"))
			time.Sleep(24 * time.Second)
			if got := r.Stats().Lists - lists; got != 0 {
				t.Errorf("%d lists before the time that the server named", got)
			}
			time.Sleep(2 * time.Second)
			if got, want := to.contents(), "a a 1, b b 2, c c 19"; got != want {
				t.Errorf("the sink has %q, want %q", got, want)
			}
		})
	})
}
