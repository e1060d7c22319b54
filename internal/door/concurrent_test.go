package door

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// sharedCache is a cache of one part under one lock, as the commits of an informer have it.
type sharedCache struct {
	mu      sync.Mutex
	door    Door[int]
	objects map[int]State
}

func (c *sharedCache) held(key int) Held {
	s, any := c.objects[key]
	return Held{State: s, Any: any}
}

func (c *sharedCache) carryOut(v Verdict, key int, is State, deleted bool) {
	switch {
	case v == Stays, v == Aside: // all objects are selected, so nothing is passed
	case deleted:
		delete(c.objects, key)
	default:
		c.objects[key] = is
	}
}

// sharedServer gives each write the next version, and keeps all of them for the watch.
type sharedServer struct {
	mu      sync.Mutex
	objects map[int]State
	log     []logged
}

type logged struct {
	key     int
	is      State
	deleted bool
}

// write creates, changes or deletes an object.
func (s *sharedServer) write(key int, deletes bool, uid string) (is State, deleted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := uint64(len(s.log) + 1)
	is, exists := s.objects[key]
	if deletes && exists {
		delete(s.objects, key)
		s.log = append(s.log, logged{key, State{UID: is.UID, Version: version}, true})
		return is, true
	}
	if !exists {
		is.UID = uid
	}
	is.Version = version
	s.objects[key] = is
	s.log = append(s.log, logged{key, is, false})
	return is, false
}

// since returns what the watch has to bring.
func (s *sharedServer) since(pos int) []logged {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log[pos:]
}

// TestConcurrentWriters has goroutines that write and read their writes, beside the watch.
func TestConcurrentWriters(t *testing.T) {
	const writers, writes, keys = 4, 2000, 6
	server := &sharedServer{objects: map[int]State{}}
	cache := &sharedCache{objects: map[int]State{}}
	var writing, watching sync.WaitGroup
	done := make(chan struct{})
	for n := range writers {
		writing.Go(func() {
			for i := range writes {
				key := rand.IntN(keys)
				is, deleted := server.write(key, rand.IntN(3) == 0, fmt.Sprint(n, "-", i))
				cache.mu.Lock()
				if deleted {
					cache.carryOut(Removed(&cache.door, key, cache.held(key), is), key, is, true)
				} else {
					cache.carryOut(Wrote(&cache.door, key, cache.held(key), is), key, is, false)
				}
				if got := cache.held(key); got.Any && got.UID == is.UID && (deleted || got.Version < is.Version) {
					t.Errorf("key %d: read %v after write %v, deleted %v", key, got, is, deleted)
				}
				cache.mu.Unlock()
			}
		})
	}
	watching.Go(func() {
		for pos, ended := 0, false; ; {
			events := server.since(pos)
			for _, e := range events {
				cache.mu.Lock()
				cache.carryOut(Event(&cache.door, e.key, cache.held(e.key), e.is, e.deleted), e.key, e.is, e.deleted)
				Bookmark(&cache.door, e.is.Version)
				left, _ := Passed(&cache.door)
				for _, key := range left {
					if got := cache.held(key); got.Any {
						t.Errorf("key %d leaves, and all are selected: %v", key, got)
					}
				}
				cache.mu.Unlock()
			}
			pos += len(events)
			if ended && len(events) == 0 {
				return
			}
			select {
			case <-done:
				ended = true
			default:
			}
		}
	})
	writing.Wait()
	close(done)
	watching.Wait()
	if len(cache.objects) != len(server.objects) {
		t.Errorf("the cache has %d objects, the server %d", len(cache.objects), len(server.objects))
	}
	for key, want := range server.objects {
		if got := cache.objects[key]; got != want {
			t.Errorf("key %d: %v, want %v", key, got, want)
		}
	}
	if n := Len(&cache.door); n > 0 {
		t.Errorf("%d own writes are left over", n)
	}
}
