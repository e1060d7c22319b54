package informer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/store"
)

func metaOf(name, uid, rv, label string) *widget {
	return &widget{ObjectMeta: metav1.ObjectMeta{
		Namespace: "n", Name: name, UID: types.UID(uid), ResourceVersion: rv, Labels: map[string]string{"l": label},
	}}
}

// broken is a source whose first watch breaks off when the test says so. Then it answers the
// question for object c with asked, and lists after. Its second watch brings what the test sends.
type broken struct {
	before, after []*widget
	asked         *widget
	breaks        chan struct{}
	events        chan reflector.Event[*widget]
}

func (b *broken) Resource() string { return "things.example.com" }

func (b *broken) List(_ context.Context, opts metav1.ListOptions, yield func(reflector.Event[*widget], error) bool) (metav1.ListMeta, error) {
	all, rv := b.before, "10"
	switch {
	case opts.FieldSelector != "":
		all, rv = []*widget{b.asked}, "20"
	case opts.ResourceVersion == "":
		all, rv = b.after, "20"
	}
	for _, o := range all {
		if !yield(reflector.Event[*widget]{Type: reflector.Added, ResourceVersion: o.ResourceVersion, Object: o}, nil) {
			return metav1.ListMeta{}, reflector.ErrListStopped
		}
	}
	return metav1.ListMeta{ResourceVersion: rv}, nil
}

func (b *broken) Watch(ctx context.Context, _ metav1.ListOptions) iter.Seq2[reflector.Event[*widget], error] {
	return func(yield func(reflector.Event[*widget], error) bool) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-b.breaks:
				yield(reflector.Event[*widget]{}, io.ErrUnexpectedEOF)
				return
			case ev := <-b.events:
				if !yield(ev, nil) {
					return
				}
			}
		}
	}
}

// TestDoubt: a list of a server that was restored, and of one that cannot show that it was not,
// brings to handlers only what has changed, by contents too. Only the certain case ends waits and
// takes back recorded writes, and not those that the list has.
func TestDoubt(t *testing.T) {
	for _, certain := range []bool{false, true} {
		t.Run(fmt.Sprintf("certain=%v", certain), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { doubt(t, certain) })
		})
	}
}

func doubt(t *testing.T, certain bool) {
	asked := metaOf("c", "3", "12", "") // it changed after what was seen: no proof
	if certain {
		asked = metaOf("c", "33", "9", "") // it would have been seen
	}
	src := &broken{
		before: []*widget{metaOf("a", "1", "5", ""), metaOf("b", "2", "6", ""), metaOf("c", "3", "7", "")},
		after:  []*widget{metaOf("a", "1", "5", ""), metaOf("b", "2", "6", "other"), asked, metaOf("d", "4", "15", "")},
		asked:  asked,
		breaks: make(chan struct{}), events: make(chan reflector.Event[*widget]),
	}
	var lost []string
	inf, err := informer.New[key](src, store.ObjectKey, informer.Options[*widget]{
		Reflector: reflector.Tuning{DisableWatchList: true},
		OnError: func(err error) {
			var write *informer.LostWriteError
			if errors.As(err, &write) {
				lost = append(lost, write.Key)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(ctx) }()
	synctest.Wait()
	var events []string
	must1(inf.AddHandler(informer.HandlerFunc[key, *widget](func(ev informer.Event[key, *widget]) {
		if !ev.Initial {
			events = append(events, fmt.Sprint(ev.Type, " ", ev.Key.Name))
		}
	}), informer.HandlerOptions[*widget]{}))(t)
	for _, write := range []*widget{metaOf("d", "4", "15", ""), metaOf("e", "5", "25", "")} {
		if err := inf.RecordWrite(write, ""); err != nil {
			t.Fatal(err)
		}
	}
	waited := make(chan error, 1)
	go func() { waited <- inf.WaitForRV(t.Context(), "30") }()
	synctest.Wait()
	src.breaks <- struct{}{}
	time.Sleep(time.Second)
	synctest.Wait()

	want := struct {
		events, lost []string
		ahead        bool
		restores     uint64
	}{events: []string{"Added d", "Added e", "Updated b", "Updated c"}, ahead: true}
	if certain {
		want.lost, want.ahead, want.restores = []string{"n/e"}, false, 1
		want.events = []string{"Added d", "Added e", "Deleted e", "Updated b", "Updated c"}
		if err := <-waited; !errors.Is(err, store.ErrRewound) {
			t.Errorf("the wait for a version that the server lost: %v", err)
		}
	}
	got := want
	_, got.ahead = inf.Get(key{Namespace: "n", Name: "e"})
	slices.Sort(events)
	got.events, got.lost, got.restores = events, lost, inf.Stats().Restores
	if diff := cmp.Diff(fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", got)); diff != "" {
		t.Errorf("after the list (-want +got):\n%s", diff)
	}
	if !certain {
		src.events <- reflector.Event[*widget]{Type: reflector.Bookmark, ResourceVersion: "30"}
		if err := <-waited; err != nil {
			t.Errorf("the wait: %v", err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
