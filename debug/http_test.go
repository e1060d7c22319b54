package debug_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/kinform/kinform/debug"
)

func TestHeadersAndMethods(t *testing.T) {
	page := debug.New(debug.Options{})
	for _, path := range []string{"/", "/deep/er/", "/page.js", "/page.css", "/state.json", "/story.json", "/none"} {
		w := get(page, path)
		csp := w.Header().Get("Content-Security-Policy")
		if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", path, csp)
		}
		if want := map[bool]int{true: 404, false: 200}[path == "/none"]; w.Code != want {
			t.Errorf("%s: status %d, want %d", path, w.Code, want)
		}
	}
	html := get(page, "/").Body.String()
	if strings.Contains(html, "<script>") || strings.Contains(html, "<style") || strings.Contains(html, "http") || strings.Contains(html, " on") && strings.Contains(html, "onclick") {
		t.Error("the page has inline code, or loads something from elsewhere")
	}
	w := httptest.NewRecorder()
	page.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/state.json", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: status %d", w.Code)
	}
}

// Every one of 100 viewers gets a state of 1,000 informers and 10,000 keys with hostile names, one
// more is refused, and all end when the page is closed.
func TestViewers(t *testing.T) {
	const viewers = 100
	page := crowd(t, 1000, 10_000) // whose limit is 100
	server := httptest.NewServer(page)
	defer server.Close()
	client := server.Client()
	var open, ended sync.WaitGroup
	open.Add(viewers)
	for range viewers {
		ended.Go(func() {
			answer := request(t, client, server.URL+"/events")
			defer answer.Body.Close()
			line, err := bufio.NewReader(answer.Body).ReadString('\n')
			if err != nil || !strings.HasPrefix(line, `data: {"time"`) || strings.Count(line, "never started") != 1000 || strings.ContainsAny(line, "<\u202e\x00") {
				t.Errorf("got %d bytes, %v", len(line), err)
			}
			open.Done()
			_, _ = io.Copy(io.Discard, answer.Body) // until the page ends it
		})
	}
	open.Wait()
	refused := request(t, client, server.URL+"/events")
	refused.Body.Close()
	if refused.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("one viewer too many: status %d", refused.StatusCode)
	}
	page.Close()
	page.Close()
	ended.Wait()
}

func request(t *testing.T, client *http.Client, url string) *http.Response {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		t.Error(err)
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Error(err)
		return &http.Response{Body: http.NoBody}
	}
	return answer
}
