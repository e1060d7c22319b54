package client

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// Bodies that are read at the same time share decompressors, but no bytes. One that waits for its next member holds none.
func TestSpareDecompressors(t *testing.T) {
	var spare sync.Pool
	var readers sync.WaitGroup
	for i := range 20 {
		readers.Go(func() {
			in, out := io.Pipe()
			body := unzip(&http.Response{Header: http.Header{"Content-Encoding": {"gzip"}}, Body: in}, &spare).(*unzipped)
			defer body.Close()
			for n := range 20 {
				text := strings.Repeat(fmt.Sprint(i, " ", n, ";"), 1+i*n)
				go func() {
					var member bytes.Buffer
					z := gzip.NewWriter(&member)
					_, _ = io.WriteString(z, text)
					_ = z.Close()
					_, _ = out.Write(member.Bytes())
					if n == 19 {
						_ = out.Close()
					}
				}()
				got := make([]byte, len(text))
				if _, err := io.ReadFull(body, got); err != nil || string(got) != text {
					t.Errorf("body %d, member %d: %v, %d bytes", i, n, err, len(got))
					return
				}
			}
			if n, err := body.Read(make([]byte, 1)); n != 0 || err != io.EOF || body.member != nil {
				t.Errorf("at the end of body %d: %d bytes, %v, %v", i, n, err, body.member)
			}
		})
	}
	readers.Wait()
}
