//go:build e2e

package recovery

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/e2e/beside"
)

// undecoded returns the time that the server takes to stream all objects of a kind as protobuf to a
// client that decodes none of them. No informer can be faster.
func (r *round) undecoded(ctx context.Context, k beside.Kind) (time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	const query = "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.server.URL+k.Path("", "")+query, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Accept", "application/vnd.kubernetes.protobuf;stream=watch")
	begin := time.Now()
	resp, err := r.server.HTTP.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("a streaming list of %s: %s", k, resp.Status)
	}
	if err := readTo(resp.Body, []byte(metav1.InitialEventsAnnotationKey)); err != nil {
		return 0, fmt.Errorf("a streaming list of %s: %w", k, err)
	}
	return time.Since(begin), nil
}

// readTo reads until it has found mark.
func readTo(from io.Reader, mark []byte) error {
	r := bufio.NewReaderSize(from, 64<<10)
	for {
		if _, err := r.Peek(len(mark)); err != nil {
			return fmt.Errorf("no %q: %w", mark, err)
		}
		have, _ := r.Peek(r.Buffered())
		if bytes.Contains(have, mark) {
			return nil
		}
		// The mark may begin in the last bytes.
		if _, err := r.Discard(len(have) - len(mark) + 1); err != nil {
			return err
		}
	}
}
