//go:build e2e

package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/converter"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/e2e/pki"
)

// ticketConverter converts stored tickets of the class "plain" to the class that it has for the path
// of the webhook. All others stay as they are.
type ticketConverter struct {
	*converter.Converter
	mu      sync.Mutex
	classes map[string]string // by path
}

func newTicketConverter(t *testing.T) *ticketConverter {
	c := &ticketConverter{classes: map[string]string{}}
	c.Converter = converter.New(func(path, version string, obj map[string]any) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if spec, ok := obj["spec"].(map[string]any); ok && version == "v2" && spec["class"] == "plain" {
			spec["class"] = c.classes[path]
		}
	})
	t.Cleanup(c.Close)
	return c
}

func (c *ticketConverter) set(path, class string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.classes[path] = class
}

// definition is the definition of tickets that the webhook at path converts.
func (c *ticketConverter) definition(path string) map[string]any {
	d := ticketDefinition("")
	d["spec"].(map[string]any)["conversion"] = c.Conversion(path)
	return d
}

// TestConversionReachesCaches changes the webhook that converts stored tickets, and the definition
// with it. The tickets have other contents without a write, at the versions that they have. Each
// cache gets them.
func TestConversionReachesCaches(t *testing.T) {
	c := cluster.Start(t, cluster.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	hook := newTicketConverter(t)
	hook.set("/first", "first")
	hook.set("/second", "second")
	another, err := pki.New()
	if err != nil {
		t.Fatal(err)
	}
	// The newest tickets stay as they are: they do not show that others changed.
	s := newTickets(ctx, t, c, hook.definition("/first"), "v2", "plain", "own", "plain", "own", "own")
	defer s.run()()
	s.same()
	for _, change := range []struct {
		name       string
		conversion map[string]any
		class      string
		busy       bool
	}{
		{"path", hook.Conversion("/second"), "second", false},
		{"path while a ticket is written", hook.Conversion("/first"), "first", true},
		{"caBundle", hook.Conversion("/first", another.PEM()), "third", false},
		{"caBundle while a ticket is written", hook.Conversion("/first"), "fourth", true},
	} {
		t.Logf("another %s", change.name)
		if strings.HasPrefix(change.name, "caBundle") {
			hook.set("/first", change.class)
		}
		s.update(map[string]any{"conversion": change.conversion})
		if change.busy {
			s.write("t1")
		}
		s.shows(change.class, "own", change.class, "own", "own")
		s.same()
	}
}

// TestConversionChangesUnseen changes what the webhook answers, and not the definition. No watch
// tells or ends. An API server with a watch cache does not know it, either: it converted the tickets
// when it read them from etcd. The next list has what the server has.
func TestConversionChangesUnseen(t *testing.T) {
	for name, flags := range map[string][]string{"watch cache": nil, "no watch cache": {"--watch-cache=false"}} {
		t.Run(name, func(t *testing.T) {
			c := cluster.Start(t, cluster.Options{ExtraAPIServerArgs: flags})
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			hook := newTicketConverter(t)
			hook.set("/", "first")
			s := newTickets(ctx, t, c, hook.definition("/"), "v2", "plain", "own", "plain", "own", "own")
			stop := s.run()
			defer func() { stop() }()
			s.same()

			t.Log("another Run")
			hook.set("/", "second")
			if flags != nil {
				s.shows("second", "own", "second", "own", "own")
			}
			stop()
			s.caches = slices.DeleteFunc(s.caches, func(c *ticketCache) bool { return c.once })
			stop = s.run()
			s.same()

			t.Log("versions that the server no longer has")
			hook.set("/", "third")
			var last *corev1.ConfigMap
			for i := range 3 {
				made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("elsewhere-", i)}}
				var err error
				if last, err = oracle.Create(ctx, s.api, oracle.Path("configmaps", "default", ""), made); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Compact(ctx, last.ResourceVersion); err != nil {
				t.Fatal(err)
			}
			if err := c.APIServer.Restart(ctx); err != nil {
				t.Fatal(err)
			}
			s.shows("third", "own", "third", "own", "own")
			s.same()
		})
	}
}
