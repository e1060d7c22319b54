package client_test

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

// A real object has one sum in a list and in a watch of one encoding, and a different one in another
// state.
func TestSumsOfListAndWatch(t *testing.T) {
	for _, resource := range []schema.GroupVersionResource{pods, widgets, {Version: "v1", Resource: "configmaps"}} {
		for _, extension := range []string{".json", ".pb"} {
			if resource == widgets && extension == ".pb" {
				continue // custom resources have no protobuf
			}
			var rec recording
			conn := transport(func(*http.Request) (*http.Response, error) {
				resp := response(bytes.NewReader(rec.body))
				resp.Header.Set("Content-Type", rec.Header.Get("Content-Type"))
				return resp, nil
			}).connection()
			r, err := client.New(conn, kind.OfResource[*metav1.PartialObjectMetadata](resource), client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			states, seen, both := map[uint64]string{}, map[string]uint64{}, 0
			for _, rec = range recordings(t, func(rec recording) bool {
				return strings.Contains(rec.File, "-"+resource.Resource) && !strings.Contains(rec.File, "metadata") && !strings.Contains(rec.File, "table") && (strings.HasPrefix(rec.File, "list-") || strings.HasPrefix(rec.File, "watch"))
			}, extension) {
				if filepath.Ext(rec.File) != extension {
					continue
				}
				all, _ := outcomes[*metav1.PartialObjectMetadata](t, r, rec.isWatch())
				for _, o := range all {
					ev := o.event
					if o.err != "" || ev.Type == reflector.Bookmark || ev.Type == reflector.Deleted {
						continue
					}
					state := fmt.Sprint(ev.Object.Namespace, "/", ev.Object.Name, " ", ev.Object.UID, " ", ev.ResourceVersion)
					if ev.Sum == 0 || states[ev.Sum] != "" && states[ev.Sum] != state {
						t.Errorf("%s: %s has the sum %x of %q", rec.File, state, ev.Sum, states[ev.Sum])
					}
					if before, ok := seen[state]; ok {
						if both++; before != ev.Sum {
							t.Errorf("%s: %s has the sum %x, and %x elsewhere", rec.File, state, ev.Sum, before)
						}
					}
					states[ev.Sum], seen[state] = state, ev.Sum
				}
			}
			if both == 0 {
				t.Errorf("%s%s: no state of %d is in two recordings", resource.Resource, extension, len(seen))
			}
		}
	}
}
