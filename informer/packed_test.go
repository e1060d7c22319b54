package informer_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/memtest"
	"github.com/kinform/kinform/reflector"
)

// TestPackedRepeats: the watch repeats a write of this process. Its object has an empty map, which packing leaves out.
func TestPackedRepeats(t *testing.T) {
	for _, packed := range []bool{false, true} {
		t.Run(fmt.Sprint(packed), func(t *testing.T) {
			opts := informer.Options[*widget]{Packed: packed, OnError: func(err error) { t.Errorf("OnError: %v", err) }}
			withByHand(t, opts, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
				events := heard(t, inf)
				state := func(version int) *widget {
					w := at("w", version)
					w.Labels = map[string]string{}
					return w
				}
				for version := 20; version < 40; version++ {
					must(t, inf.RecordWrite(state(version), ""))
					src.send(reflector.Modified, version, state(version))
				}
				synctest.Wait()
				if n := strings.Count(events(), "U "); n != 20 {
					t.Errorf("%d events for 20 writes", n)
				}
			})
		})
	}
}

// loud is an object that cannot be packed.
type loud struct{ widget }

func (*loud) MarshalBinary() ([]byte, error) { return nil, errors.New("not today") }
func (*loud) UnmarshalBinary([]byte) error   { return nil }

// An object that cannot be packed is reported once, whoever brings it.
func TestReportsWhatIsNotPacked(t *testing.T) {
	for _, own := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			src := &byHand[*loud]{events: make(chan byHandEvent[*loud])}
			src.list = func(metav1.ListOptions) ([]reflector.Event[*loud], string) { return nil, "10" }
			var told []string
			inf := must1(informer.New(src, func(l *loud) (key, error) { return key{Namespace: "a", Name: l.Name}, nil }, informer.Options[*loud]{
				Packed: true, Reflector: byHandTuning, OnError: func(err error) { told = append(told, err.Error()) },
			}))(t)
			defer run(t, inf)()
			for version := 20; version < 23; version++ {
				w := &loud{*at("w", version)}
				if own {
					must(t, inf.RecordWrite(w, ""))
				}
				src.events <- byHandEvent[*loud]{ev: reflector.Event[*loud]{Type: reflector.Modified, Object: w, ResourceVersion: w.ResourceVersion}}
			}
			synctest.Wait()
			if got, ok := inf.Get(key{Namespace: "a", Name: "w"}); !ok || got.ResourceVersion != "22" {
				t.Errorf("the store has %v", got)
			}
			if len(told) != 1 || !strings.Contains(told[0], "the object is not packed, and takes more memory: *informer_test.loud: not today") {
				t.Errorf("told %q", told)
			}
		})
	}
}

// TestPackedChurn: a day of changes, of objects that slowly become others, leaves no more memory than its first hours, and
// the objects as they were sent.
func TestPackedChurn(t *testing.T) {
	const day, often, names = 24 * time.Hour, 4 * time.Second, 200
	withByHand(t, informer.Options[*widget]{Packed: true}, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		random := rand.New(rand.NewPCG(1, 1))
		sent := map[string]*widget{}
		change := func(version int, hours float64) {
			name := fmt.Sprint("w-", random.IntN(names))
			if sent[name] != nil && random.IntN(4) == 0 {
				src.send(reflector.Deleted, version, at(name, version))
				delete(sent, name)
				return
			}
			w := at(name, version)
			kind := rand.New(rand.NewPCG(uint64(hours/3), 2)) // another one every three hours
			w.Annotations = map[string]string{"own": fmt.Sprint(random.Uint64())}
			for n := range 20 {
				w.Annotations[fmt.Sprint("common-", n)] = fmt.Sprint(kind.Uint64(), kind.Uint64())
			}
			typ := reflector.Modified
			if sent[name] == nil {
				typ = reflector.Added
			}
			src.send(typ, version, w)
			sent[name] = w
		}
		var early int64
		for n := range int(day / often) {
			change(100+n, (time.Duration(n) * often).Hours())
			time.Sleep(often)
			if n == int(6*time.Hour/often) {
				early = memtest.Heap()
			}
		}
		synctest.Wait()
		if late := memtest.Heap(); late-early > 1<<20 && !memtest.Race { // 16,000 changes of 700 bytes are 11 MB
			t.Errorf("%d bytes after six hours, %d after a day", early, late)
		}
		if n := inf.Store().Len(); n != len(sent)+1 { // and the one that was listed
			t.Errorf("%d objects, want %d", n, len(sent)+1)
		}
		for name, want := range sent {
			if got, ok := inf.Store().Get(key{Namespace: "a", Name: name}); !ok || !reflect.DeepEqual(got, want) {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
	})
}

// TestPackedRelist: lists of the same objects while the cache learns what they have in common bring no events.
func TestPackedRelist(t *testing.T) {
	opts := informer.Options[*widget]{Packed: true, OnError: func(error) {}}
	withByHand(t, opts, func(src *byHand[*widget], inf *informer.Informer[key, *widget]) {
		var all []*widget
		for n := range 400 {
			w := at(fmt.Sprint("w-", n), 20+n)
			w.Annotations = map[string]string{"common": strings.Repeat(fmt.Sprint(n%2), 200), "own": strings.Repeat(fmt.Sprint(n), 100)}
			all = append(all, w)
		}
		var events func() string
		for list := range 12 { // some 250 KB each
			src.set(listOf(fmt.Sprint(1000+list), all...))
			src.fail(apierrors.NewResourceExpired("gone"))
			if events == nil {
				events = heard(t, inf)
				synctest.Wait()
				events()
			}
		}
		if got := events(); got != "" {
			t.Errorf("events: %.200s", got)
		}
		if src.lists < 12 || inf.Store().Len() != len(all) {
			t.Errorf("%d lists, %d objects", src.lists, inf.Store().Len())
		}
	})
}
