package store_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/store"
)

func TestParseKey(t *testing.T) {
	for text, want := range map[string]types.NamespacedName{
		"ns/name": {Namespace: "ns", Name: "name"},
		"name":    {Name: "name"},
		"/name":   {Name: "name"},
	} {
		if got, err := store.ParseKey(text); err != nil || got != want {
			t.Errorf("ParseKey(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "/", "ns/", "a/b/c", "//name", "ns//"} {
		got, err := store.ParseKey(text)
		if !errors.Is(err, store.ErrKeyText) || got != (types.NamespacedName{}) {
			t.Errorf("ParseKey(%q) = %v, %v", text, got, err)
		} else if !strings.Contains(err.Error(), `"`+text+`"`) {
			t.Errorf("the error of %q says %q", text, err)
		}
	}
}

// What String writes, ParseKey reads.
func FuzzParseKey(f *testing.F) {
	f.Add("ns", "name")
	f.Add("", "name")
	f.Fuzz(func(t *testing.T, namespace, name string) {
		if name == "" || strings.Contains(namespace+name, "/") {
			t.Skip()
		}
		key := types.NamespacedName{Namespace: namespace, Name: name}
		if got, err := store.ParseKey(key.String()); err != nil || got != key {
			t.Errorf("ParseKey(%q) = %v, %v", key, got, err)
		}
	})
}
