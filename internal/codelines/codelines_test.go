package codelines_test

import (
	"testing"

	"github.com/kinform/kinform/internal/codelines"
)

func TestCount(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		want   int
	}{
		"package only":  {"// Doc.\npackage a\n", 1},
		"blank lines":   {"package a\n\n\nvar b = 1\n\n", 2},
		"imports":       {"package a\n\nimport (\n\t\"b\"\n\n\t\"c\"\n)\nimport \"d\"\n\nvar e = b.F + c.F + d.F\n", 2},
		"comments":      {"package a\n\n// One.\n/* two\nthree */\nvar b = 1 // four\n", 2},
		"brackets":      {"package a\n\nfunc b() {\n\tc(\n\t)\n}\n", 5},
		"text of lines": {"package a\n\nvar b = `1\n\n3`\n", 4},
	} {
		got, err := codelines.Count([]byte(c.source))
		if err != nil || got != c.want {
			t.Errorf("%s: %d lines, %v, want %d", name, got, err, c.want)
		}
	}
	if _, err := codelines.Count([]byte("package a\nfunc {")); err == nil {
		t.Error("text that does not parse has no error")
	}
	if _, err := codelines.InFile("none.go"); err == nil {
		t.Error("a file that is not there has no error")
	}
	if n, err := codelines.InFile("codelines.go"); err != nil || n < 40 || n > 60 {
		t.Errorf("codelines.go has %d lines, %v", n, err)
	}
}
