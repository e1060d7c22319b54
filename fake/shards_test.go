package fake_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/reflector"
)

const (
	shardZero = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
	shardOne  = "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')"
)

// listShard returns the names in one shard, and what the list says it is.
func listShard(t testing.TB, s *fake.Server, selector string) (out []string, info *metav1.ShardInfo, err error) {
	t.Helper()
	src := must(fake.NewSource[*pod](s, fake.Selection{}))(t)
	meta, err := src.List(t.Context(), metav1.ListOptions{ShardSelector: selector}, func(ev reflector.Event[*pod], err error) bool {
		check(t, err)
		out = append(out, ev.Object.Name)
		return true
	})
	return out, meta.ShardInfo, err
}

func fortyPods(t *testing.T) *fake.Server {
	t.Helper()
	s := newServer(t, fake.Options{})
	for i := range 40 {
		must(fake.Create(s, newPod("a", fmt.Sprintf("p%02d", i))))(t)
	}
	return s
}

func TestShards(t *testing.T) {
	s := fortyPods(t)
	zero, info, err := listShard(t, s, shardZero)
	check(t, err)
	one, _, err := listShard(t, s, "  ( shardRange(object.metadata.uid,\"0x8000000000000000\", '0x10000000000000000') ) ")
	check(t, err)
	if len(zero)+len(one) != 40 || len(zero) < 5 || len(one) < 5 {
		t.Errorf("shards of %d and %d", len(zero), len(one))
	}
	if d := cmp.Diff(&metav1.ShardInfo{Selector: shardZero}, info); d != "" {
		t.Error(d)
	}
	all, info, err := listShard(t, s, shardZero+"||"+shardOne)
	check(t, err)
	if len(all) != 40 || info.Selector != shardZero+" || "+shardOne {
		t.Errorf("%d objects, info %+v", len(all), info)
	}
	if all, info, _ := listShard(t, s, ""); len(all) != 40 || info != nil {
		t.Errorf("%d objects, info %+v", len(all), info)
	}
	byNamespace := strings.ReplaceAll(shardZero, "uid", "namespace")
	if n, _, err := listShard(t, s, byNamespace); err != nil || len(n)%40 != 0 {
		t.Errorf("%d objects of one namespace, error %v", len(n), err)
	}
}

// TestShardWatch: a watch sees the events of its shard alone.
func TestShardWatch(t *testing.T) {
	s := fortyPods(t)
	want, _, err := listShard(t, s, shardZero)
	check(t, err)
	s.Bookmark()
	src := must(fake.NewSource[*pod](s, fake.Selection{}))(t)
	var got []string
	for ev, err := range src.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1", ShardSelector: shardZero, AllowWatchBookmarks: true}) {
		check(t, err)
		if ev.Type == reflector.Bookmark {
			break
		}
		got = append(got, ev.Object.Name)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-list +watch):\n%s", d)
	}
}

func TestShardSelectorThatDoesNotParse(t *testing.T) {
	_, _, err := listShard(t, newServer(t, fake.Options{}), shardZero+" x")
	want := `invalid shard selector: CEL parse error: Syntax error: unexpected "x"`
	if st := wantStatus(t, err, 500, metav1.StatusReasonUnknown); st.Message != want {
		t.Errorf("message %q, want %q", st.Message, want)
	}
}
