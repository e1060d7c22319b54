package arguments_test

import (
	"math"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/fake/internal/arguments"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestArguments(t *testing.T) {
	for number, words := range arguments.Lines("# nothing\n\n by=2s n=7 how=all # so\n") {
		args := arguments.Of(words)
		by, n, other, all := args.Duration("by"), args.Number("n", 1, 1, 9), args.Number("m", 3, 1, 9), args.Is("how", "all")
		if err := args.Done(); number != 3 || by != 2*time.Second || n != 7 || other != 3 || !all || err != nil {
			t.Errorf("line %d has %v %d %d %v, %v", number, by, n, other, all, err)
		}
	}
	for name, c := range map[string]struct {
		read func(*arguments.Set)
		want string
	}{
		"n=0":     {func(s *arguments.Set) { s.Number("n", 1, 1, math.MaxInt) }, "n=0: want a number from 1"},
		"n=8":     {func(s *arguments.Set) { s.Number("n", 1, 1, 7) }, "n=8: want a number from 1 to 7"},
		"m=1":     {func(s *arguments.Set) { s.Take("m"); s.Number("n", -1, 1, 7) }, "n is missing"},
		"by=1":    {func(s *arguments.Set) { s.Duration("by") }, "by=1: want a duration"},
		"how=one": {func(s *arguments.Set) { s.Is("how", "all") }, `unknown argument "how"`},
		"n":       {func(*arguments.Set) {}, `"n": want name=value, each name once`},
	} {
		args := arguments.Of([]string{name})
		if c.read(args); args.Done() == nil || args.Done().Error() != c.want {
			t.Errorf("%s: %v, want %s", name, args.Done(), c.want)
		}
	}
}
