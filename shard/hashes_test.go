package shard_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kinform/kinform/internal/mistake"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/shard"
)

func byTenant(w *website) uint64 { return shard.Hash(w.Labels["tenant"]) }

// TestBadParts: what cannot be a part is an error with the name of the resource.
func TestBadParts(t *testing.T) {
	set, source := new(shard.Hashes), reflector.Source[*website](named{})
	for note, c := range map[string]struct {
		part shard.Part[*website]
		want error
	}{
		"no set":   {shard.Part[*website]{Hash: byTenant}, shard.ErrHashes},
		"no hash":  {shard.Part[*website]{Hashes: set}, shard.ErrHashes},
		"both":     {shard.Part[*website]{Hashes: set, Hash: byTenant, Field: shard.FieldUID}, shard.ErrHashes},
		"no field": {shard.Part[*website]{Hashes: set, Field: "name"}, reflector.ErrInvalid},
	} {
		if _, err := c.part.Source(source); !errors.Is(err, c.want) || !strings.HasPrefix(err.Error(), "websites: ") {
			t.Errorf("%s: %v", note, err)
		}
		if has, err := c.part.Has(nil); has || !errors.Is(err, c.want) {
			t.Errorf("%s: has is %t, %v", note, has, err)
		}
	}
	if _, err := (shard.Part[*website]{Hashes: set, Hash: byTenant}).Source(nil); !errors.Is(err, mistake.NoSource) {
		t.Error(err)
	}
}

// TestHashes: overlapping ranges are joined, and a bad one changes nothing.
func TestHashes(t *testing.T) {
	set := new(shard.Hashes)
	if err := set.Set(shard.HashRange{First: 5, Last: 9}, shard.HashRange{First: 1, Last: 2}, shard.HashRange{First: 3, Last: 6}); err != nil {
		t.Fatal(err)
	}
	if err := set.Set(shard.HashRange{First: 2, Last: 1}); !errors.Is(err, shard.ErrHashes) {
		t.Error(err)
	}
	if got, want := set.Ranges(), []shard.HashRange{{First: 1, Last: 9}}; !slices.Equal(got, want) || !set.Has(9) || set.Has(10) || set.Has(0) {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := set.WaitForLists(t.Context()); err != nil { // nobody follows
		t.Error(err)
	}
}

type named struct{ reflector.Source[*website] }

func (named) Resource() string { return "websites" }
