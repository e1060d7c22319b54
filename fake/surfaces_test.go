package fake_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// TestSurfacesAgree reads the same thing through the in-process source and through the
// real client over HTTP, and expects the same answers, refusals included.
func TestSurfacesAgree(t *testing.T) {
	for seed := range uint64(15) {
		synctest.Test(t, func(t *testing.T) { surfacesAgree(t, seed) })
	}
}

func surfacesAgree(t *testing.T, seed uint64) {
	w := &world{model: newModel(), t: t, r: rand.New(rand.NewPCG(seed, 2)), s: statusServer(t, fake.Options{})}
	check(t, fake.AddField(w.s, "spec.node", podNode))
	c := clientOf(t, w.s, podKind, "")
	for range 40 {
		w.step()
		w.write(c)
	}
	for range 25 {
		sel := randomSelection(w.r)
		if w.r.IntN(3) == 0 {
			sel.FieldSelector = []string{"spec.node=1", "spec.node!=1", "spec.node=1,metadata.name!=p"}[w.r.IntN(3)]
		}
		direct := must(fake.NewSource[*pod](w.s, sel.Selection))(t)
		overHTTP := must(client.New(client.Connection{URL: fake.URL, HTTP: w.s.Client()},
			kind.OfResource[*pod](schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Named("Pod"),
			client.Options{Namespace: sel.Namespace, LabelSelector: sel.LabelSelector, FieldSelector: sel.FieldSelector}))(t)
		opts := randomOptions(w)
		if w.r.IntN(4) == 0 {
			opts.ShardSelector = []string{shardZero, shardOne, "junk"}[w.r.IntN(3)]
		}
		if w.r.IntN(8) == 0 {
			opts.FieldSelector = "spec.image=x" // not a field to select by
		}
		a, b := readAll(t, direct, opts), readAll(t, overHTTP, opts)
		if d := cmp.Diff(a, b); d != "" {
			t.Fatalf("seed %d, %+v, %+v (-source +client):\n%s", seed, sel.Selection, opts, d)
		}
	}
}

// randomOptions makes options of a list or, with TimeoutSeconds, of a watch that starts
// in the past.
func randomOptions(w *world) metav1.ListOptions {
	opts := metav1.ListOptions{ResourceVersion: strconv.Itoa(w.r.IntN(int(w.now()))), AllowWatchBookmarks: w.r.IntN(2) == 0}
	switch w.r.IntN(8) {
	case 0:
		opts.ResourceVersion = ""
	case 1:
		opts.ResourceVersion = "junk"
	case 2:
		opts.ResourceVersion = "999999"
	case 3:
		opts.ResourceVersionMatch = metav1.ResourceVersionMatchExact
	case 4:
		opts.ResourceVersionMatch, opts.SendInitialEvents = metav1.ResourceVersionMatchNotOlderThan, &yes
	case 5:
		opts.Limit = 1 + int64(w.r.IntN(4))
	}
	if opts.SendInitialEvents != nil || w.r.IntN(2) == 0 {
		seconds := int64(5)
		opts.TimeoutSeconds = &seconds
	}
	return opts
}

// readAll lists page by page, or watches until the server's timeout.
func readAll(t *testing.T, src reflector.Source[*pod], opts metav1.ListOptions) (out []string) {
	note := func(ev reflector.Event[*pod], err error) {
		if err != nil {
			var status apierrors.APIStatus
			if !errors.As(err, &status) {
				t.Errorf("no Status: %v", err)
				return
			}
			out = append(out, fmt.Sprintf("refused %d %s %s", status.Status().Code, status.Status().Reason, status.Status().Message))
			return
		}
		line := fmt.Sprint(ev.Type, ev.ResourceVersion, ev.InitialEventsEnd)
		if ev.Object != nil {
			p := *ev.Object
			if grace := p.DeletionGracePeriodSeconds; grace != nil { // else its address is printed
				p.DeletionGracePeriodSeconds = nil
				line += fmt.Sprintf(" grace=%d", *grace)
			}
			line += fmt.Sprintf(" %+v", p)
		}
		out = append(out, line)
	}
	if opts.TimeoutSeconds == nil {
		for {
			meta, err := src.List(t.Context(), opts, func(ev reflector.Event[*pod], err error) bool { note(ev, err); return true })
			if err != nil {
				note(reflector.Event[*pod]{}, err)
				return out
			}
			out = append(out, "page at "+meta.ResourceVersion)
			if opts.Continue = meta.Continue; opts.Continue == "" {
				return out
			}
			opts.ResourceVersion, opts.ResourceVersionMatch = "", ""
		}
	}
	for ev, err := range src.Watch(t.Context(), opts) {
		note(ev, err)
	}
	return out
}
