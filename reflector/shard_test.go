package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"

	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/shard"
)

const everyHash, noHash = "0x10000000000000000", "0x0000000000000000"

func shardOf(field, start, end string) sharding.Selector {
	return sharding.NewSelector(sharding.ShardRangeRequirement{Key: field, Start: start, End: end})
}

// Every object is in one of the even shards, and in the one that apimachinery's own
// matching says.
func TestEvenShards(t *testing.T) {
	source := &canned[partial]{}
	for n := range 500 {
		source.pairs = append(source.pairs, event(reflector.Added, fmt.Sprintf("pod-%d", n), fmt.Sprint(n+1)))
	}
	for _, count := range []int{1, 2, 3, 7, 64} {
		found := map[string]int{}
		for n := range count {
			selector, err := shard.Even(n, count)
			if err != nil {
				t.Fatal(err)
			}
			part, err := reflector.Shard[partial](source, selector)
			if err != nil {
				t.Fatal(err)
			}
			_, err = part.List(context.Background(), metav1.ListOptions{}, func(ev reflector.Event[partial], _ error) bool {
				found[ev.Object.Name]++
				if in, err := selector.Matches(ev.Object); !in || err != nil {
					t.Errorf("%s is not in %s: %v", ev.Object.Name, selector, err)
				}
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
			if source.asked.ShardSelector != selector.String() {
				t.Errorf("asked for shard %q, want %q", source.asked.ShardSelector, selector)
			}
		}
		for name, times := range found {
			if times != 1 {
				t.Errorf("%d shards: %s is in %d", count, name, times)
			}
		}
		if len(found) != len(source.pairs) {
			t.Errorf("%d shards hold %d of %d objects", count, len(found), len(source.pairs))
		}
	}
}

func TestShardMatchesAsTheServerDoes(t *testing.T) {
	selectors := []sharding.Selector{
		shardOf("object.metadata.uid", noHash, "0x8000000000000000"),
		shardOf("object.metadata.uid", "0x8000000000000000", everyHash),
		shardOf("object.metadata.namespace", "0x1000000000000000", "0x9fffffffffffffff"),
		sharding.NewSelector(
			sharding.ShardRangeRequirement{Key: "object.metadata.uid", Start: noHash, End: "0x2000000000000000"},
			sharding.ShardRangeRequirement{Key: "object.metadata.uid", Start: "0xc000000000000000", End: "0xe000000000000000"}),
	}
	for _, selector := range selectors {
		source := &canned[partial]{}
		var want []string
		for n := range 200 {
			p := event(reflector.Added, fmt.Sprintf("pod-%d", n), fmt.Sprint(n+1))
			p.ev.Object.Namespace = string(pod(fmt.Sprint("ns-", n%17), "").UID)
			source.pairs = append(source.pairs, p)
			if in, err := selector.Matches(p.ev.Object); err != nil {
				t.Fatal(err)
			} else if in {
				want = append(want, line(p.ev, nil))
			}
		}
		part, err := reflector.Shard[partial](source, selector)
		if err != nil {
			t.Fatal(err)
		}
		if len(want) == 0 || len(want) == 200 {
			t.Errorf("%s selects %d of 200: the test shows nothing", selector, len(want))
		}
		same(t, listed(t, part), want...)
	}
}

func TestShardMovesOnOverWhatItDrops(t *testing.T) {
	selector := shardOf("object.metadata.namespace", noHash, "0x0000000000000001")
	source := &canned[partial]{pairs: []pair[partial]{
		event(reflector.Added, "a", "1"), event(reflector.Modified, "a", "2"), event(reflector.Deleted, "a", "3"),
	}}
	part, err := reflector.Shard[partial](source, selector)
	if err != nil {
		t.Fatal(err)
	}
	same(t, watched(part, metav1.ListOptions{ResourceVersion: "1"}), "BOOKMARK 1", "BOOKMARK 2", "BOOKMARK 3")
	if source.asked.ShardSelector != selector.String() {
		t.Errorf("the watch asked for shard %q, want %q", source.asked.ShardSelector, selector)
	}
	same(t, listed(t, part))
}

func TestShardVerifiesWhatItGets(t *testing.T) {
	selector, err := shard.Even(0, 2)
	if err != nil {
		t.Fatal(err)
	}
	other, err := shard.Even(1, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		info *metav1.ShardInfo
		want error
	}{
		{nil, nil}, // a server that knows no shards
		{&metav1.ShardInfo{Selector: selector.String()}, nil},
		{&metav1.ShardInfo{Selector: other.String()}, reflector.ErrProtocol},
	} {
		source := &canned[partial]{page: metav1.ListMeta{ResourceVersion: "5", ShardInfo: c.info}}
		part, err := reflector.Shard[partial](source, selector)
		if err != nil {
			t.Fatal(err)
		}
		_, err = part.List(context.Background(), metav1.ListOptions{}, func(reflector.Event[partial], error) bool { return true })
		if !errors.Is(err, c.want) {
			t.Errorf("with %v: %v, want %v", c.info, err, c.want)
		}
	}
}

func TestShardSkipsWhatHasNoMetadata(t *testing.T) {
	selector, err := shard.Even(0, 2)
	if err != nil {
		t.Fatal(err)
	}
	source := &canned[string]{pairs: []pair[string]{{ev: reflector.Event[string]{Type: reflector.Added, ResourceVersion: "1", Object: "a"}}}}
	part, err := reflector.Shard[string](source, selector)
	if err != nil {
		t.Fatal(err)
	}
	same(t, listed(t, part), "pods: object of unknown key at resourceVersion 1 skipped: object does not implement the Object interfaces")
}

func TestBadShards(t *testing.T) {
	uid := "object.metadata.uid"
	for name, selector := range map[string]sharding.Selector{
		"nil":                nil,
		"everything":         sharding.Everything(),
		"by name":            shardOf("object.metadata.name", noHash, everyHash),
		"short bound":        shardOf(uid, "0x0", everyHash),
		"no prefix":          shardOf(uid, "00"+noHash[2:], everyHash),
		"upper case":         shardOf(uid, "0xA000000000000000", everyHash),
		"not a number":       shardOf(uid, "0x000000000000000g", everyHash),
		"empty":              shardOf(uid, "0x8000000000000000", "0x8000000000000000"),
		"ends at its zero":   shardOf(uid, noHash, noHash),
		"backwards":          shardOf(uid, "0x9000000000000000", "0x8000000000000000"),
		"starts at the end":  shardOf(uid, everyHash, everyHash),
		"by two fields":      sharding.NewSelector(shardOf(uid, noHash, everyHash).Requirements()[0], shardOf("object.metadata.namespace", noHash, everyHash).Requirements()[0]),
		"second range wrong": sharding.NewSelector(shardOf(uid, noHash, everyHash).Requirements()[0], shardOf(uid, "0x1", everyHash).Requirements()[0]),
	} {
		if _, err := reflector.Shard[partial](&canned[partial]{}, selector); !errors.Is(err, reflector.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	for _, c := range [][2]int{{0, 0}, {-1, 2}, {2, 2}, {0, -1}} {
		if _, err := shard.Even(c[0], c[1]); !errors.Is(err, reflector.ErrInvalid) {
			t.Errorf("EvenShard(%d, %d): %v, want ErrInvalid", c[0], c[1], err)
		}
	}
}
