package shards_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/shards"
)

const (
	shardZero = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
	shardOne  = "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')"
)

// TestMatches: an object is in exactly one of two halves, the half of its field's hash.
func TestMatches(t *testing.T) {
	for _, field := range []string{"uid", "namespace"} {
		var halves [2]*shards.Selector
		for i, text := range []string{shardZero, "  ( " + strings.ReplaceAll(shardOne, "'", `"`) + " ) "} {
			var err error
			if halves[i], err = shards.Parse(strings.ReplaceAll(text, "uid", field)); err != nil {
				t.Fatal(err)
			}
		}
		both, err := shards.Parse(halves[0].String() + "||" + halves[1].String())
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range []string{"", "a", "b", "c", "d", "e", "f"} {
			obj := &metav1.ObjectMeta{UID: "other", Namespace: value}
			if field == "uid" {
				obj = &metav1.ObjectMeta{UID: types.UID(value), Namespace: "other"}
			}
			upper := sharding.HashField(value) >= "8"
			if halves[0].Matches(obj) == upper || halves[1].Matches(obj) != upper || !both.Matches(obj) {
				t.Errorf("%s %q with hash %s: %t %t %t", field, value, sharding.HashField(value), halves[0].Matches(obj), halves[1].Matches(obj), both.Matches(obj))
			}
		}
	}
}

func TestRefusals(t *testing.T) {
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
		if _, err := shards.Parse(selector); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %q", selector, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(shardZero)
	f.Add(shardZero + " || (" + shardOne + ")")
	f.Add("shardRange(object.metadata.uid, \"0x")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := shards.Parse(text)
		if err != nil {
			return
		}
		again, err := shards.Parse(s.String())
		if err != nil || again.String() != s.String() {
			t.Errorf("%q was read as %q and that as %v, error %v", text, s, again, err)
		}
	})
}
