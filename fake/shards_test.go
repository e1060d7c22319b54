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

func TestShards(t *testing.T) {
	s := newServer(t, fake.Options{})
	for i := range 40 {
		must(fake.Create(s, newPod("a", fmt.Sprintf("p%02d", i))))(t)
	}
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
	s := newServer(t, fake.Options{})
	for i := range 40 {
		must(fake.Create(s, newPod("a", fmt.Sprintf("p%02d", i))))(t)
	}
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

func TestShardRefusals(t *testing.T) {
	s := newServer(t, fake.Options{})
	for selector, want := range map[string]string{
		" ":                "empty shard selector is not allowed; omit the parameter for unfiltered lists",
		"f(object.a, '')":  `unsupported function "f"; only shardRange() and || are allowed`,
		shardZero + " || ": `CEL parse error: Syntax error: unexpected "<EOF>"`,
		shardZero + " x":   `CEL parse error: Syntax error: unexpected "x"`,
		"shardRange(object.metadata.name, '', '')":                                                          `unsupported field path "object.metadata.name"; supported: object.metadata.uid, object.metadata.namespace`,
		"shardRange(object.metadata.uid, '0', '')":                                                          `hexStart must have '0x' prefix, got "0"`,
		"shardRange(object.metadata.uid, '0x0', '')":                                                        `hexStart must be a 0x-prefixed 16-digit hex value, got "0x0" (did you mean "0x0000000000000000"?)`,
		"shardRange(object.metadata.uid, '0x', '')":                                                         `hexStart: hex value is required after '0x'`,
		"shardRange(object.metadata.uid, '0x000000000000000G', '')":                                         `hexStart: invalid hex character "G" in "0x000000000000000G"`,
		"shardRange(object.metadata.uid, '0x0000000000000000', '0x20000000000000000')":                      `hexEnd: 17-digit hex value must be '0x10000000000000000' (2^64), got "0x20000000000000000"`,
		"shardRange(object.metadata.uid, '0x0000000000000000', '0x100000000000000000')":                     `hexEnd: hex value too long (18 chars, max 17): "100000000000000000"`,
		"shardRange(object.metadata.uid, '0x8000000000000000', '0x8000000000000000')":                       `shard range start 0x8000000000000000 must be less than end 0x8000000000000000`,
		"shardRange(object.metadata.uid, '0x8000000000000000')":                                             `shardRange() requires exactly 3 arguments`,
		"shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000', '')":                   `shardRange() requires exactly 3 arguments`,
		shardZero + "||" + strings.ReplaceAll(shardOne, "uid", "namespace"):                                 `all shard ranges must use the same field, got "object.metadata.uid" and "object.metadata.namespace"`,
		"shardRange(object.metadata.uid, '0x0000":                                                           `CEL parse error: Syntax error: unexpected "<EOF>"`,
		"shardRange(object.metadata.uid, 7, 8)":                                                             `CEL parse error: Syntax error: unexpected "7"`,
		strings.Repeat("(", 1000):                                                                           `CEL parse error: expression recursion limit exceeded: 100`,
		"shardRange(object.metadata., '0x0000000000000000', '0x8000000000000000')":                          `CEL parse error: Syntax error: unexpected ","`,
		"object.metadata.uid | shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')": `CEL parse error: Syntax error: unexpected "."`,
		shardZero + " | " + shardOne:                                                                        `CEL parse error: Syntax error: unexpected "shardRange"`,
		"(" + shardZero:                                                                                     `CEL parse error: Syntax error: unexpected "<EOF>"`,
		"shardRange('0x0000000000000000', '0x8000000000000000')":                                            `CEL parse error: Syntax error: unexpected "'"`,
		"shardRange(object.metadata.uid '0x0000000000000000', '0x8000000000000000')":                        `CEL parse error: Syntax error: unexpected "'"`,
	} {
		_, _, err := listShard(t, s, selector)
		if st := wantStatus(t, err, 500, metav1.StatusReasonUnknown); st.Message != "invalid shard selector: "+want {
			t.Errorf("%q: message %q, want %q", selector, st.Message, want)
		}
	}
}

func FuzzShardSelector(f *testing.F) {
	f.Add(shardZero)
	f.Add(shardZero + " || (" + shardOne + ")")
	f.Add("shardRange(object.metadata.uid, \"0x")
	s := newServer(f, fake.Options{})
	must(fake.Create(s, newPod("a", "p")))(f)
	src := must(fake.NewSource[*pod](s, fake.Selection{}))(f)
	f.Fuzz(func(t *testing.T, text string) {
		list := func(text string) (metav1.ListMeta, error) {
			return src.List(t.Context(), metav1.ListOptions{ShardSelector: text}, func(reflector.Event[*pod], error) bool { return true })
		}
		meta, err := list(text)
		if err != nil || text == "" {
			return
		}
		// What the server says it understood means the same.
		again, err := list(meta.ShardInfo.Selector)
		if err != nil || again.ShardInfo.Selector != meta.ShardInfo.Selector {
			t.Errorf("%q was read as %q and that as %v, error %v", text, meta.ShardInfo.Selector, again.ShardInfo, err)
		}
	})
}
