//go:build e2e

package recovery

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// The mark is found at every position and for every split of the bytes. An end without it is an
// error.
func TestReadTo(t *testing.T) {
	mark := []byte("mark")
	for _, before := range []int{0, 1, 64<<10 - 2, 64 << 10, 200_000} {
		text := strings.Repeat("m", before) + "mark and more"
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(text), "by bytes": iotest.OneByteReader(strings.NewReader(text))} {
			if err := readTo(r, mark); err != nil {
				t.Errorf("%s, after %d bytes: %v", name, before, err)
			}
		}
	}
	for _, text := range []string{"", "mar", strings.Repeat("mar", 100_000)} {
		if err := readTo(strings.NewReader(text), mark); !errors.Is(err, io.EOF) {
			t.Errorf("of %d bytes without a mark: %v", len(text), err)
		}
	}
}
