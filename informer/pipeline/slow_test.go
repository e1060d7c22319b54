package pipeline_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/deltafifo"
)

// A process function that takes over 100 ms while more than 10 changes come is reported, once a
// minute.
func TestSlowProcessIsReported(t *testing.T) {
	for _, c := range []struct {
		takes time.Duration
		come  int
		want  bool
	}{{101 * time.Millisecond, 11, false}, {101*time.Millisecond + 1, 11, true}, {time.Second, 10, false}, {time.Second, 11, true}} {
		t.Run(fmt.Sprint(c.takes, c.come), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				slow := make(chan bool, 1)
				reports := func() (found []*deltafifo.SlowError) {
					w.mu.Lock()
					defer w.mu.Unlock()
					for _, err := range w.errs {
						if e, ok := errors.AsType[*deltafifo.SlowError](err); ok {
							found = append(found, e)
						}
					}
					return found
				}
				_, stop := w.run(func(k key, ds deltas) error {
					select {
					case <-slow:
						time.Sleep(c.takes)
					default:
					}
					return w.take(k, ds)
				}, w.options())
				burst := func(name string) {
					slow <- true
					w.create(name, 1)
					synctest.Wait()
					for n := range c.come {
						w.create(fmt.Sprint(name, n), 1)
					}
					time.Sleep(c.takes + 1)
					synctest.Wait()
				}
				burst("a")
				got := reports()
				if !c.want {
					if len(got) != 0 {
						t.Errorf("reported %v", got[0])
					}
				} else if len(got) != 1 || got[0].Deltas != 1 || got[0].Pending != c.come || got[0].Took != c.takes || got[0].Resource != "things.example.com" {
					t.Errorf("reported %+v", got)
				}
				burst("b")
				if len(reports()) != len(got) {
					t.Error("reported twice within a minute")
				}
				time.Sleep(time.Minute)
				burst("c")
				if len(reports()) != 2*len(got) {
					t.Errorf("%d reports after a minute, want %d", len(reports()), 2*len(got))
				}
				w.must(stop())
			})
		})
	}
}
