package linear

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/kinform/kinform/queue"
)

// queueState is the state of the model. Each string has keys of one byte, in order where it
// matters.
type queueState struct {
	ready          string // to be handed out, the first one first
	running, again string // handed out; added since
	delayed        string // due in an hour, in the order in which they were added
}

// queueOp is an operation on a key: add, later (in an hour), cancel, get, done, or hour, which lets
// an hour pass.
type queueOp struct {
	name string
	key  byte
}

func without(s string, key byte) string { return strings.ReplaceAll(s, string(key), "") }
func with(s string, key byte) string    { return without(s, key) + string(key) }

// add models an add: a running key comes again once it is done, and a queued key keeps its place.
func (s *queueState) add(key byte) {
	switch {
	case strings.IndexByte(s.running, key) >= 0:
		s.again = with(s.again, key)
	case strings.IndexByte(s.ready, key) < 0:
		s.ready += string(key)
	}
}

var queueModel = porcupine.Model{
	Init: func() any { return queueState{} },
	Step: func(state, input, output any) (bool, any) {
		s, in := state.(queueState), input.(queueOp)
		switch in.name {
		case "add":
			s.add(in.key)
		case "later":
			if strings.IndexByte(s.delayed, in.key) < 0 {
				s.delayed += string(in.key)
			}
		case "cancel":
			was := s.delayed
			s.delayed = without(was, in.key)
			return output == (was != s.delayed), s
		case "get":
			if s.ready == "" || output == "" {
				return s.ready == "" && output == "", s
			}
			key := s.ready[0]
			s.ready, s.running = s.ready[1:], with(s.running, key)
			return output == string(key), s
		case "done":
			was, again := s.running, strings.IndexByte(s.again, in.key) >= 0
			s.running, s.again = without(was, in.key), without(s.again, in.key)
			if again {
				s.add(in.key)
			}
			return output == (was != s.running), s
		case "hour":
			for _, key := range []byte(s.delayed) {
				s.add(key)
			}
			s.delayed = ""
		}
		return true, s
	},
	DescribeOperation: func(input, output any) string {
		in := input.(queueOp)
		return fmt.Sprintf("%s %q: %v", in.name, in.key, output)
	},
}

// TestQueue adds, delays, gets and gives back three keys with four goroutines. Then an hour passes,
// and one goroutine takes what has come. Time is virtual, so a Get ends without a key only when all
// goroutines wait.
func TestQueue(t *testing.T) {
	base, overlapping := rand.Uint64(), 0
	for n := range histories() {
		seed := base + uint64(n)
		r := &recorder{}
		synctest.Test(t, func(t *testing.T) {
			q := queue.New(queue.Options[byte]{})
			together(seed, 4, func(goroutine int, rng *rand.Rand) {
				for range 10 {
					queueStep(r, q, goroutine, rng)
				}
			})
			r.do(0, queueOp{name: "hour"}, func() any { time.Sleep(time.Hour); synctest.Wait(); return nil })
			together(seed+1, 1, func(_ int, rng *rand.Rand) {
				for range 10 {
					queueStep(r, q, 0, rng)
				}
			})
			q.ShutDown()
		})
		check(t, queueModel, seed, r)
		overlapping += overlaps(r)
	}
	t.Logf("%d operations overlapped others", overlapping)
	if overlapping == 0 {
		t.Error("no two operations ran at the same time")
	}
}

// queueStep makes one random operation.
func queueStep(r *recorder, q *queue.Queue[byte], goroutine int, rng *rand.Rand) {
	falter()
	key := "abc"[rng.IntN(3)]
	switch rng.IntN(10) {
	case 0, 1, 2:
		r.do(goroutine, queueOp{"add", key}, func() any { q.Add(key); return nil })
	case 3:
		r.do(goroutine, queueOp{"later", key}, func() any { q.AddAfter(key, time.Hour); return nil })
	case 4:
		r.do(goroutine, queueOp{"cancel", key}, func() any { return q.Cancel(key) })
	case 5, 6, 7:
		r.do(goroutine, queueOp{name: "get"}, func() any {
			ctx, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
			defer cancel()
			it, err := q.Get(ctx)
			if err != nil {
				return ""
			}
			return string(it.Key)
		})
	default:
		r.do(goroutine, queueOp{"done", key}, func() any { return q.Done(key) })
	}
}
