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
)

// A key in a loop is on the page, with what goes on, and without values.
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
		}, controller.Options[key]{OwnEvents: true, Logger: slog.New(slog.DiscardHandler)})
		controller.For(c, h)
		if err := p.page.AddController("rotate", c); err != nil {
			t.Fatal(err)
		}
		p.run = c.Run
		defer p.start("one")()
		time.Sleep(30 * time.Second)
		w := get(p.page, "/debug/state.json")
		var s debug.State
		if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		const want = `[{Key:a/one Seconds:13 Priority:0 Failures:0 Error:16 reconciles in 15s, 16 after secrets a/one changed data.password, written by this controller Cause:}]`
		if got := fmt.Sprintf("%+v", s.Controllers[0].LoopingKeys); got != want || strings.Contains(w.Body.String(), "hidden-value") {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}
