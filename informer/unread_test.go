package informer_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/reflector"
)

// TestReadsOfWhatNothingRuns: an author forgets to give a cache to a controller. Every method that looks something up
// finds nothing, which must not stay unnoticed.
func TestReadsOfWhatNothingRuns(t *testing.T) {
	nodes := index.New("of a node", nodeOf)
	for name, read := range map[string]func(*informer.Informer[key, *widget]){
		"Get":         func(inf *informer.Informer[key, *widget]) { inf.Get(key{Name: "w"}) },
		"List":        func(inf *informer.Informer[key, *widget]) { inf.List() },
		"Lister.Get":  func(inf *informer.Informer[key, *widget]) { _, _ = informer.NewLister(inf).Get(key{Name: "w"}) },
		"Lister.List": func(inf *informer.Informer[key, *widget]) { informer.NewLister(inf).In("prod").List(nil) },
		"Index.Get":   func(inf *informer.Informer[key, *widget]) { informer.AddIndex(inf, nodes).Get("node-1") },
		"Index.Count": func(inf *informer.Informer[key, *widget]) { informer.AddIndex(inf, nodes).Count("node-1") },
	} {
		for state, c := range map[string]struct {
			prepare func(*testing.T, *informer.Informer[key, *widget]) (stop func())
			want    int
		}{
			"never run": {func(*testing.T, *informer.Informer[key, *widget]) func() { return func() {} }, 1},
			"runs":      {func(t *testing.T, inf *informer.Informer[key, *widget]) func() { return run(t, inf) }, 0},
			"stopped":   {func(t *testing.T, inf *informer.Informer[key, *widget]) func() { run(t, inf)(); return func() {} }, 0},
			"written to": {func(_ *testing.T, inf *informer.Informer[key, *widget]) func() {
				informer.Writer(inf)
				return func() {}
			}, 0},
		} {
			t.Run(name+", "+state, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var log bytes.Buffer
					reports := func() int { return strings.Count(log.String(), "nothing runs this cache") }
					inf := newInformer(t, &live[*widget]{object: at("other", 10), events: make(chan reflector.Event[*widget])}, informer.Options[*widget]{
						Logger: slog.New(slog.NewTextHandler(&log, nil)), OnError: func(err error) { t.Error(err) }, Reflector: reflector.Tuning{DisableWatchList: true, IdleTimeout: -1},
					})
					stop := c.prepare(t, inf)
					read(inf)
					time.Sleep(9 * time.Second)
					read(inf)
					if reports() > 0 {
						t.Errorf("warned while the program may only be starting: %s", &log)
					}
					for range 3 {
						time.Sleep(time.Second)
						read(inf)
					}
					stop()
					if reports() != c.want || c.want > 0 && !strings.Contains(log.String(), inf.Resource()) {
						t.Errorf("%d warnings, want %d: %s", reports(), c.want, &log)
					}
				})
			})
		}
	}
}
