package debug

import (
	"embed"
	"encoding/json"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed assets
var assets embed.FS

// policy lets the page load its own script, style and data, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// writeTime is how long a viewer may take to accept one State.
const writeTime = 10 * time.Second

// ServeHTTP implements http.Handler: see the package documentation.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "the page is read-only", http.StatusMethodNotAllowed)
		return
	}
	_, file := path.Split(r.URL.Path)
	switch file {
	case "":
		p.asset(w, "page.html", "text/html; charset=utf-8")
	case "page.js":
		p.asset(w, file, "text/javascript; charset=utf-8")
	case "page.css":
		p.asset(w, file, "text/css; charset=utf-8")
	case "events":
		p.stream(w, r)
	case "story.json":
		q := r.URL.Query()
		writeJSON(w, p.story(r.Context(), q.Get("key"), q.Get("server") == "1"))
	default:
		p.json(w, r, file)
	}
}

func (p *Page) asset(w http.ResponseWriter, name, typ string) {
	text, _ := assets.ReadFile("assets/" + name) // it is embedded
	w.Header().Set("Content-Type", typ)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text)
}

func (p *Page) json(w http.ResponseWriter, r *http.Request, file string) {
	switch file {
	case "state.json", "informers.json", "queues.json", "controllers.json", "replicas.json":
	default:
		http.NotFound(w, r)
		return
	}
	state, _ := p.snapshot()
	if query := r.URL.Query(); query.Has("name") {
		state = only(state, query.Get("name"))
	}
	parts := map[string]any{"state": state, "informers": state.Informers, "queues": state.Queues, "controllers": state.Controllers, "replicas": state.Replicas}
	writeJSON(w, parts[strings.TrimSuffix(file, ".json")])
}

// only returns the parts of a state that were added under name.
func only(s State, name string) State {
	s.Informers = slices.DeleteFunc(slices.Clone(s.Informers), func(i Informer) bool { return i.Name != name })
	s.Queues = slices.DeleteFunc(slices.Clone(s.Queues), func(q Queue) bool { return q.Name != name })
	s.Controllers = slices.DeleteFunc(slices.Clone(s.Controllers), func(q Queue) bool { return q.Name != name })
	s.Replicas = slices.DeleteFunc(slices.Clone(s.Replicas), func(r ReplicaState) bool { return r.Name != name })
	return s
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the viewer has gone
}

// stream sends a State each second until the viewer goes, or takes too long.
func (p *Page) stream(w http.ResponseWriter, r *http.Request) {
	defer p.viewers.Add(-1)
	if p.viewers.Add(1) > int64(p.opts.Viewers) {
		http.Error(w, "too many viewers", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return
	}
	to := http.NewResponseController(w)
	defer func() { _ = to.SetWriteDeadline(time.Time{}) }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		_, text := p.snapshot()
		_ = to.SetWriteDeadline(time.Now().Add(writeTime)) // without it, a viewer only delays itself
		for _, part := range [][]byte{[]byte("data: "), text, []byte("\n\n")} {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
		if to.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-p.closed:
			return
		case <-tick.C:
		}
	}
}
