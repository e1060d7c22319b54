package clusters_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/examples/clusters"
	"github.com/kinform/kinform/examples/internal/stage"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faults"
	"github.com/kinform/kinform/with/kubernetes/core"
)

func TestMain(m *testing.M) {
	slog.SetLogLoggerLevel(slog.LevelError + 1) // failed reconciles are wanted here
	goleak.VerifyTestMain(m)
}

// fleet is a hub, on which the controller runs, and two other clusters.
type fleet struct {
	hub, east, west *stage.Stage
}

func newFleet(t *testing.T) fleet {
	idle := func(ctx context.Context, _ client.Connection) error { <-ctx.Done(); return nil }
	f := fleet{
		east: stage.New(t, fake.Options{}, idle, stage.Kind(core.ConfigMaps)),
		west: stage.New(t, fake.Options{}, idle, stage.Kind(core.ConfigMaps)),
	}
	f.hub = stage.New(t, fake.Options{}, func(ctx context.Context, hub client.Connection) error {
		return clusters.Run(ctx, hub, map[string]client.Connection{"east": f.east.Connection(), "west": f.west.Connection()})
	}, stage.Kind(core.ConfigMaps))
	return f
}

func newConfig(s *stage.Stage, name, value string, change ...func(metav1.Object)) {
	stage.Create(s, fake.Object(&corev1.ConfigMap{Data: map[string]string{"a": value}}, "prod", name, change...))
}

func key(name string) kinform.Key { return kinform.Key{Namespace: "prod", Name: name} }

var marked = fake.Labels(clusters.Label, "yes")

// want checks the ConfigMaps of a cluster.
func want(t *testing.T, s *stage.Stage, after string, want map[string]string) {
	t.Helper()
	s.Settle()
	all, err := fake.List[*corev1.ConfigMap](s.Server, fake.Selection{})
	s.Check(err)
	got := map[string]string{}
	for _, config := range all {
		got[config.Name] = config.Data["a"]
	}
	if !maps.Equal(got, want) {
		t.Errorf("the cluster has %v after %s, want %v", got, after, want)
	}
}

func TestCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		newConfig(f.hub, "one", "1", marked)
		newConfig(f.hub, "private", "2")
		newConfig(f.east, "own", "3")
		newConfig(f.west, "old", "4", marked)
		want(t, f.east, "the start", map[string]string{"one": "1", "own": "3"})
		want(t, f.west, "the start", map[string]string{"one": "1"})

		stage.Patch[*corev1.ConfigMap](f.hub, key("one"), `{"data":{"a":"5"}}`)
		want(t, f.east, "a change", map[string]string{"one": "5", "own": "3"})
		stage.Patch[*corev1.ConfigMap](f.east, key("one"), `{"data":{"a":"6"}}`)
		want(t, f.east, "a change of a copy", map[string]string{"one": "5", "own": "3"})
		stage.Delete[*corev1.ConfigMap](f.west, key("one"))
		want(t, f.west, "the deletion of a copy", map[string]string{"one": "5"})

		f.east.Writes()
		f.west.Writes()
		for n := range 100 {
			stage.Patch[*corev1.ConfigMap](f.hub, key("one"), fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}}}`, n))
			f.hub.Breathe()
		}
		f.east.WantWrites("100 unrelated updates", 0)
		f.west.WantWrites("100 unrelated updates", 0)

		stage.Patch[*corev1.ConfigMap](f.hub, key("one"), `{"metadata":{"labels":null}}`)
		want(t, f.east, "the end of the label", map[string]string{"own": "3"})
		want(t, f.west, "the end of the label", map[string]string{})
		f.hub.WantWrites("all that", 0)
	})
}

// A ConfigMap that is not a copy is left alone. When it is gone, the copy comes.
func TestForeign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		newConfig(f.east, "one", "theirs")
		newConfig(f.hub, "one", "1", marked)
		want(t, f.east, "the start", map[string]string{"one": "theirs"})
		want(t, f.west, "the start", map[string]string{"one": "1"})
		stage.Delete[*corev1.ConfigMap](f.east, key("one"))
		want(t, f.east, "the end of the other", map[string]string{"one": "1"})
	})
}

// A ConfigMap that gets the name of a copy just before the copy's deletion is not deleted.
func TestDeletesOnlyCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		newConfig(f.hub, "one", "1", marked)
		want(t, f.east, "the start", map[string]string{"one": "1"})
		f.hub.Stop()
		f.east.Before = func() { // the deletion is the first write from here on
			f.east.Before = nil
			stage.Delete[*corev1.ConfigMap](f.east, key("one"))
			newConfig(f.east, "one", "theirs")
		}
		f.hub.Start()
		stage.Delete[*corev1.ConfigMap](f.hub, key("one"))
		want(t, f.east, "the deletion", map[string]string{"one": "theirs"})
		want(t, f.west, "the deletion", map[string]string{})
	})
}

// A cluster that refuses everything holds up no other, and gets its copies when it is back.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.hub.Stop()
		down := faults.Fault{Times: -1, Status: faults.Refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, 0)}
		f.east.Check(f.east.Server.Inject(down))
		newConfig(f.east, "old", "2", marked)
		f.hub.Start()
		newConfig(f.hub, "one", "1", marked)
		want(t, f.west, "the outage of the other", map[string]string{"one": "1"})
		want(t, f.east, "an outage", map[string]string{"old": "2"})
		f.east.Server.ClearFaults()
		want(t, f.east, "the outage", map[string]string{"one": "1"})
	})
}

// A cluster that fails after it has a copy holds up no other, although what was written to it is not known. That
// includes one that does not answer at all.
func TestLateOutage(t *testing.T) {
	for name, down := range map[string]faults.Fault{
		"refuses": {Times: -1, Status: faults.Refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, 0)},
		"is mute": {Times: -1, Delay: 1000 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				newConfig(f.hub, "one", "1", marked)
				want(t, f.east, "the start", map[string]string{"one": "1"})
				f.east.Check(f.east.Server.Inject(down))
				stage.Patch[*corev1.ConfigMap](f.hub, key("one"), `{"data":{"a":"2"}}`)
				f.hub.Breathe()
				for n := range 9 {
					newConfig(f.hub, fmt.Sprint(n), "3", marked)
				}
				all := map[string]string{"one": "2"}
				for n := range 9 {
					all[fmt.Sprint(n)] = "3"
				}
				time.Sleep(time.Minute) // a try ends after ten seconds
				if now, err := fake.List[*corev1.ConfigMap](f.west.Server, fake.Selection{}); err != nil || len(now) != len(all) {
					t.Errorf("%d copies after a minute, want %d: %v", len(now), len(all), err)
				}
				want(t, f.west, "the outage of the other", all)
				want(t, f.east, "an outage", map[string]string{"one": "1"})
				f.east.Server.ClearFaults()
				f.east.Server.DropWatches()
				want(t, f.east, "the outage", all)
			})
		})
	}
}

// A cluster that does not answer, with many keys, leaves workers for the others.
func TestMuteClusterWithManyKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		for n := range 20 {
			newConfig(f.hub, fmt.Sprint(n), "1", marked)
		}
		f.hub.Settle()
		f.east.Check(f.east.Server.Inject(faults.Fault{Times: -1, Delay: 1000 * time.Hour}))
		for n := range 20 {
			stage.Patch[*corev1.ConfigMap](f.hub, key(fmt.Sprint(n)), `{"data":{"a":"2"}}`)
		}
		time.Sleep(time.Second)
		newConfig(f.hub, "new", "3", marked)
		time.Sleep(2 * time.Second) // a try ends after ten seconds
		if _, err := fake.Get[*corev1.ConfigMap](f.west.Server, key("new")); err != nil {
			t.Errorf("the other cluster has to wait: %v", err)
		}
		f.east.Server.ClearFaults()
		f.east.Server.DropWatches()
		all := map[string]string{"new": "3"}
		for n := range 20 {
			all[fmt.Sprint(n)] = "2"
		}
		want(t, f.east, "the outage", all)
		want(t, f.west, "the outage of the other", all)
	})
}

// The answer of an update is lost, the watch brings nothing, and the hub changes back. So the cache and the hub are
// equal, but the copy is not.
func TestLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		newConfig(f.hub, "one", "1", marked)
		want(t, f.east, "the start", map[string]string{"one": "1"})
		f.east.Check(f.east.Server.Inject(
			faults.Fault{Verb: faults.VerbWatch, Silent: true, Times: -1},
			faults.Fault{Verb: faults.VerbPatch, CutBytes: 1},
			faults.Fault{Verb: faults.VerbGet, Times: -1, Status: faults.Refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, 0)},
		))
		f.east.Server.DropWatches()
		f.hub.Breathe()
		stage.Patch[*corev1.ConfigMap](f.hub, key("one"), `{"data":{"a":"2"}}`)
		time.Sleep(2 * time.Second) // after ten seconds without a GET, the controller would wait for the watch
		stage.Patch[*corev1.ConfigMap](f.hub, key("one"), `{"data":{"a":"1"}}`)
		time.Sleep(2 * time.Second)
		if value := stage.Get[*corev1.ConfigMap](f.east, key("one")).Data["a"]; value != "2" {
			t.Errorf("the copy has %q while the cluster fails, want 2", value)
		}
		f.east.Server.ClearFaults()
		time.Sleep(time.Minute) // the watch is silent for longer
		if value := stage.Get[*corev1.ConfigMap](f.east, key("one")).Data["a"]; value != "1" {
			t.Errorf("the copy has %q after the outage, want 1", value)
		}
	})
}

// A copy has all that a ConfigMap holds, and the label as it is in the hub.
func TestContents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		newConfig(f.hub, "one", "1", marked)
		f.hub.Settle()
		stage.Patch[*corev1.ConfigMap](f.hub, key("one"), `{"binaryData":{"b":"AQI="},"metadata":{"labels":{"example.com/copy":"too"}}}`)
		f.hub.Settle()
		copied := stage.Get[*corev1.ConfigMap](f.west, key("one"))
		if string(copied.BinaryData["b"]) != "\x01\x02" || copied.Labels[clusters.Label] != "too" {
			t.Errorf("the copy is %+v", copied)
		}
	})
}

// The text of a key, which logs show, names the cluster.
func TestKeyText(t *testing.T) {
	if text := fmt.Sprint(clusters.Key{Cluster: "east", Key: key("one")}); text != "east: prod/one" {
		t.Errorf("the text of the key is %q", text)
	}
}

// An outage of the hub deletes nothing.
func TestHubOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		f.hub.Stop()
		f.hub.Check(f.hub.Server.Inject(faults.Fault{Times: -1, Status: faults.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, 0)}))
		newConfig(f.east, "one", "1", marked)
		f.hub.Start()
		want(t, f.east, "the outage of the hub", map[string]string{"one": "1"})
	})
}
