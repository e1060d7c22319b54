package debug_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/debug"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/queue"
)

// A key in a loop is on the page, with what goes on, and without values. All are counted, and the story of each says so.
func TestLoopingKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &program{t: t, server: fake.New(fake.Options{}), page: debug.New(debug.Options{})}
		secrets := kind.Of[*Secret](schema.GroupVersion{Version: "v1"}, "secrets")
		if err := fake.Register(p.server, secrets, fake.Rules{}); err != nil {
			t.Fatal(err)
		}
		h := controller.Open(client.Connection{URL: fake.URL, HTTP: p.server.Client()}, secrets)
		c := controller.New("rotate", func(ctx context.Context, k key) error {
			time.Sleep(time.Second)
			s, ok := h.Cached(k)
			if !ok {
				return nil
			}
			s = s.DeepCopy()
			s.Data = map[string]string{"password": fmt.Sprint("hidden-value", time.Now())}
			_, err := h.Update(ctx, s, metav1.UpdateOptions{})
			return err
		}, controller.Options[key]{OwnEvents: true, Logger: slog.New(slog.DiscardHandler), Run: queue.RunOptions{Workers: 25}})
		controller.For(c, h)
		if err := p.page.AddController("rotate", c); err != nil {
			t.Fatal(err)
		}
		p.run = c.Run
		var names []string
		for i := range 25 {
			names = append(names, fmt.Sprintf("n%02d", i))
		}
		defer p.start(names...)()
		time.Sleep(30 * time.Second)
		w := get(p.page, "/debug/state.json")
		var s debug.State
		if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		const text = "16 reconciles in 15s, 16 after secrets a/n00 changed data.password, written by this controller"
		want := debug.Key{Key: "a/n00", Seconds: 13, Error: text}
		if q := s.Controllers[0]; q.Looping != 25 || len(q.LoopingKeys) != 20 || q.LoopingKeys[0] != want || strings.Contains(w.Body.String(), "hidden-value") {
			t.Errorf("%d keys loop, got  %+v\nwant %+v first of 20", q.Looping, q.LoopingKeys, want)
		}
		if one := p.story("a/n00"); len(one.Controllers) != 1 || one.Controllers[0].Loop != text {
			t.Errorf("story %+v", one)
		}
		var none debug.Story
		decode(t, p, "/story.json?key=a/none", &none)
		if len(none.Controllers) != 1 || none.Controllers[0].Loop != "" {
			t.Errorf("story of another key %+v", none)
		}
	})
}
