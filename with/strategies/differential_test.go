package strategies_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/envtest/apiserver"
	"github.com/kinform/kinform/with/strategies"
)

var (
	seed   = flag.Uint64("differential.seed", 1, "seed of the random objects")
	rounds = flag.Int("differential.rounds", 15, "random objects of each template")
	show   = flag.Int("differential.show", 0, "how many answers that differ are shown")
)

// maxReordered limits the answers whose causes are in another order: the real server goes through maps, and asks
// policies in no order.
const maxReordered = 5

// template is an object that an API server accepts, and the path of its collection.
type template struct {
	Path   string
	Object map[string]any
}

// TestDifferential sends random objects to a kube-apiserver and to the fake, and compares the
// answers whole, but for what differs by nature: uids, times, versions, managed fields and
// allocated addresses.
func TestDifferential(t *testing.T) {
	if os.Getenv(cluster.Variable) != "1" {
		t.Skipf("set %s=1 to compare with a kube-apiserver", cluster.Variable)
	}
	t.Logf("seed %d", *seed)
	text, err := os.ReadFile("testdata/objects.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var templates []template
	if err := yaml.Unmarshal(text, &templates); err != nil {
		t.Fatal(err)
	}
	ours, err := apiserver.New(apiserver.Options{Fake: fake.Options{Strategy: strategies.New()}})
	if err != nil {
		t.Fatal(err)
	}
	real := cluster.Start(t, cluster.Options{ExtraAPIServerArgs: []string{"--allow-privileged=true"}})
	d := &differ{
		real:   newSide(real.URL(), real.HTTPClient()),
		fake:   newSide(fake.URL, &http.Client{Transport: inProcess{ours}}),
		random: rand.New(rand.NewPCG(*seed, 1)), classes: map[string]int{},
	}
	d.nodes(t)
	for n, of := range templates {
		for i := range *rounds {
			d.scene(t, of, fmt.Sprintf("o%d-%d", n, i), i)
		}
	}
	tools := definition("diff.example.com", "tools", "Tool", parsed[map[string]any](t, toolSchema), "v1")
	version := tools["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	version["subresources"].(map[string]any)["scale"] = map[string]any{"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.count"}
	d.define(t, tools, "/apis/diff.example.com/v1/namespaces/default/tools")
	d.roots(t)
	for i := range *rounds {
		d.operators(t, i)
		d.binds(t, fmt.Sprintf("bi0-%d", i))
	}
	for i := range (*rounds + 4) / 5 { // they wait for the real server
		d.versions(t, i)
	}
	d.mutates(t, *rounds)
	t.Logf("%d requests, %d of them not refused, %d answered alike (%.1f %%)", d.sent, d.accepted, d.alike, 100*float64(d.alike)/float64(d.sent))
	names := slices.Sorted(maps.Keys(d.classes))
	slices.SortStableFunc(names, func(a, b string) int { return d.classes[b] - d.classes[a] })
	for _, name := range names {
		t.Logf("%5d %s", d.classes[name], name)
	}
	if d.reordered > maxReordered {
		t.Errorf("%d answers have their causes in another order, more than %d", d.reordered, maxReordered)
	}
	if d.alike < d.sent {
		t.Errorf("%d answers differ (seed %d; -args -differential.show 9 shows them)", d.sent-d.alike, *seed)
	}
}

// inProcess answers requests by a handler.
type inProcess struct{ h http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := &answer{header: http.Header{}}
	p.h.ServeHTTP(w, r)
	return &http.Response{StatusCode: w.code, Header: w.header, Body: io.NopCloser(&w.body)}, nil
}

type answer struct {
	code   int
	header http.Header
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }
func (a *answer) Flush()              {}
func (a *answer) WriteHeader(code int) {
	if a.code == 0 {
		a.code = code
	}
}
func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

// side is one of the servers.
type side struct {
	url  string
	http *http.Client
	seen map[string]state // the newest states by kind and name
}

// state is what the last answer said about an object.
type state struct{ version, owners, times string }

func newSide(url string, client *http.Client) side { return side{url, client, map[string]state{}} }

// wrote says whether the answer is an object at another version than the answers before. maybe says
// that only times of managedFields changed: these writes depend on the second in which they are made.
func (s side) wrote(body map[string]any) (maybe bool) {
	meta, _ := body["metadata"].(map[string]any)
	rv, _ := meta["resourceVersion"].(string)
	if rv == "" || meta["name"] == nil {
		return false
	}
	times, _ := json.Marshal(meta["managedFields"])
	now := state{rv, ownersOf(body), string(times)}
	key := fmt.Sprint(body["kind"], meta["name"])
	was := s.seen[key]
	body["wrote"] = was.version != now.version
	if was.version == now.version { // a dry run shows other managedFields
		return false
	}
	s.seen[key] = now
	return was.owners == now.owners && was.times != now.times
}

func (s side) send(t *testing.T, method, path, contentType string, body any) (int, map[string]any) {
	t.Helper()
	code, out, raw := s.ask(t, method, path, contentType, body)
	if out == nil {
		t.Fatalf("%s %s: %d %s", method, path, code, raw)
	}
	return code, out
}

// ask sends a request. The answer is nil if it is no object of JSON.
func (s side) ask(t *testing.T, method, path, contentType string, body any) (code int, out map[string]any, raw []byte) {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", "differential/1") // the manager of writes that name none
	req.Header.Set("Content-Type", contentType)
	if method == http.MethodGet && contentType != "" {
		req.Header.Set("Accept", contentType)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if raw, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return resp.StatusCode, nil, raw
	}
	if warnings := resp.Header.Values("Warning"); len(warnings) > 0 {
		out["warnings"] = warnings
	}
	return resp.StatusCode, out, raw
}

type differ struct {
	real, fake side
	random     *rand.Rand
	// sent counts requests; accepted counts the requests that were not refused, alike the ones with
	// the same answers, and reordered the alike ones whose causes were in another order.
	sent, accepted, alike, reordered int
	classes                          map[string]int
	owners                           bool     // managedFields count
	before                           []string // the last requests, for an answer that is shown
}

// scene creates an object and changes it. An even round begins with an object that is valid.
func (d *differ) scene(t *testing.T, of template, name string, round int) {
	obj := clone(of.Object)
	meta, _ := obj["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["name"] = name
	obj["metadata"] = meta
	if round > 0 && round%2 == 1 {
		for range 1 + d.random.IntN(2) {
			d.damage(obj)
		}
	}
	path := of.Path + "/" + name
	made, gone := d.both(t, http.MethodPost, of.Path, "application/json", obj, obj)
	if made && !gone {
		return
	}
	if gone { // it was refused: a good one takes its place
		good := clone(of.Object)
		m, _ := good["metadata"].(map[string]any)
		if m == nil {
			m = map[string]any{}
			good["metadata"] = m
		}
		m["name"] = name
		_, refused := d.both(t, http.MethodPost, of.Path, "application/json", good, good)
		if refused {
			return
		}
	}
	for range 3 {
		d.change(t, path, of)
	}
	d.both(t, http.MethodGet, path, "application/json;as=Table;g=meta.k8s.io;v=v1", nil, nil)
	d.both(t, http.MethodDelete, path, "application/json", nil, nil)
	for _, s := range []side{d.real, d.fake} {
		s.send(t, http.MethodDelete, path, "application/json", map[string]any{"gracePeriodSeconds": 0})
	}
}

// change sends one random change of the object at path, or of its status.
func (d *differ) change(t *testing.T, path string, of template) {
	_, a := d.real.send(t, http.MethodGet, path, "", nil)
	_, b := d.fake.send(t, http.MethodGet, path, "", nil)
	if a["kind"] == "Status" || b["kind"] == "Status" {
		return
	}
	switch d.random.IntN(4) {
	case 0: // a merge patch of one member
		p := clone(of.Object)
		for _, k := range slices.Sorted(maps.Keys(p)) {
			if k == "status" || len(p) > 1 && d.random.IntN(2) == 0 {
				delete(p, k)
			}
		}
		d.damage(p)
		d.both(t, http.MethodPatch, path, "application/merge-patch+json", p, p)
	case 1:
		if of.Object["status"] == nil {
			return
		}
		status := map[string]any{"status": clone(of.Object)["status"]}
		if d.random.IntN(2) == 0 {
			d.damage(status)
		}
		d.both(t, http.MethodPatch, path+"/status", "application/merge-patch+json", status, status)
	default:
		// The same damage to what each has, which may differ in what is allocated.
		s := d.random.Uint64()
		for _, obj := range []map[string]any{a, b} {
			(&differ{random: rand.New(rand.NewPCG(s, 2))}).damage(obj)
		}
		d.both(t, http.MethodPut, path, "application/json", a, b)
	}
}

// both sends a request to both servers and compares the answers. It reports whether they differ,
// and whether one of them refused.
func (d *differ) both(t *testing.T, method, path, contentType string, a, b any) (differ, refused bool) {
	t.Helper()
	realCode, realBody := d.real.send(t, method, path, contentType, a)
	fakeCode, fakeBody := d.fake.send(t, method, path, contentType, b)
	d.sent++
	asked, _ := json.Marshal(a)
	d.before = append(d.before[max(0, len(d.before)-40):], fmt.Sprintf("%s %s %.1500s", method, path, asked))
	if a, b := d.real.wrote(realBody), d.fake.wrote(fakeBody); a || b {
		delete(realBody, "wrote")
		delete(fakeBody, "wrote")
	}
	if d.owners {
		realBody["owners"], fakeBody["owners"] = ownersOf(realBody), ownersOf(fakeBody)
	}
	normal(realBody)
	normal(fakeBody)
	refused = realCode >= 300 || fakeCode >= 300
	if !refused {
		d.accepted++
	}
	if realCode == fakeCode && reflect.DeepEqual(realBody, fakeBody) {
		d.alike++
		return false, refused
	}
	if realCode == fakeCode && reflect.DeepEqual(unordered(realBody), unordered(fakeBody)) {
		d.alike++
		d.reordered++
		return false, refused
	}
	var where []string
	if realCode != fakeCode {
		where = append(where, fmt.Sprintf("code %d, fake %d", realCode, fakeCode))
	} else {
		compare(&where, "", realBody, fakeBody)
	}
	parts := strings.Split(path, "/")
	slices.Sort(where)
	where = slices.Compact(where)
	class := fmt.Sprintf("%s %s: %s", method, regexp.MustCompile(`[a-z]+\d+-\d+(-[bp]\d)?(\?.*)?`).ReplaceAllString(parts[len(parts)-1], parts[len(parts)-2]), strings.Join(where[:min(3, len(where))], "; "))
	d.classes[class]++
	if *show > 0 && d.classes[class] == 1 {
		*show--
		object, _, _ := strings.Cut(path, "?")
		object = regexp.MustCompile(`/(status|eviction|scale|resize)$`).ReplaceAllString(object, "")
		before := slices.DeleteFunc(slices.Clone(d.before), func(line string) bool { return !strings.Contains(line, object[strings.LastIndex(object, "/")+1:]) })
		t.Logf("%s\n%s\n-real +fake\n%.1500s", class, strings.Join(before, "\n"), cmp.Diff(realBody, fakeBody))
	}
	return true, refused
}

// ownersOf returns the managedFields of an object, but for their times and their order.
func ownersOf(body map[string]any) string {
	meta, _ := body["metadata"].(map[string]any)
	entries, _ := meta["managedFields"].([]any)
	owners := []string{}
	for _, e := range entries {
		entry := maps.Clone(e.(map[string]any))
		delete(entry, "time")
		b, _ := json.Marshal(entry)
		owners = append(owners, string(b))
	}
	slices.Sort(owners)
	return strings.Join(owners, "\n")
}

// allocated are uids, addresses and ports of Services, and ages.
var allocated = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|\b10\.0\.0\.\d+\b|\b3[0-2]\d{3}\b|^\d+s$`)

var (
	chain   = regexp.MustCompile(`(mu\d+-\d+)-b\d`) // policies of one scene, which the real server asks in no order
	moment  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	numbers = regexp.MustCompile(`(?i)((?:resource ?version|version in (?:precondition|object meta)): |"resourceVersion":"|precondition \(|in record \(|revision=)\d+`)
)

// alike replaces uids, versions and times, but for the times of the test, which are at midnight.
func alike(text string) string {
	text = allocated.ReplaceAllString(text, "ALLOCATED")
	text = chain.ReplaceAllString(text, "$1")
	text = moment.ReplaceAllStringFunc(text, func(m string) string {
		if strings.HasSuffix(m, "T00:00:00Z") {
			return m
		}
		return "TIME"
	})
	return numbers.ReplaceAllString(text, "${1}N")
}

// normal removes what differs by nature.
func normal(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "deletionTimestamp", "clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort"} {
			if s, ok := v[name].(string); !ok || s != "None" {
				delete(v, name)
			}
		}
		if causes, ok := v["causes"].([]any); ok { // conflicts are in no order
			slices.SortStableFunc(causes, func(a, b any) int { return strings.Compare(conflictOf(a), conflictOf(b)) })
		}
		if token, ok := v["continue"].(string); ok && token != "" { // it has the version
			v["continue"] = "TOKEN"
		} else if ok { // lists of custom resources state it
			delete(v, "continue")
		}
		if m, ok := v["message"].(string); ok {
			if n := strings.LastIndex(m, "}\": "); n > 0 && (strings.Contains(m, "patch: Invalid value: ") || v["field"] == "patch") {
				v["message"] = m[n:] // it repeats the object
			}
		}
		for k, x := range v {
			if text, ok := x.(string); ok {
				v[k] = alike(text)
			}
			normal(x)
		}
	case []any:
		for i, x := range v {
			if text, ok := x.(string); ok {
				v[i] = alike(text)
			}
			normal(x)
		}
	}
}

// unordered returns a refusal with its causes in their order as texts, and without the message, which repeats them.
func unordered(body map[string]any) map[string]any {
	body = clone(body)
	details, _ := body["details"].(map[string]any)
	if causes, ok := details["causes"].([]any); ok && len(causes) > 1 {
		slices.SortFunc(causes, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		delete(body, "message")
	}
	return body
}

// conflictOf returns the field of a conflict of managers, and the manager.
func conflictOf(cause any) string {
	if m, ok := cause.(map[string]any); ok && m["reason"] == "FieldManagerConflict" {
		return fmt.Sprint(m["field"], m["message"])
	}
	return ""
}

// compare adds the paths at which a and b differ.
func compare(where *[]string, path string, a, b any) {
	am, ok := a.(map[string]any)
	bm, too := b.(map[string]any)
	if !ok || !too {
		if !reflect.DeepEqual(a, b) {
			*where = append(*where, regexp.MustCompile(`\[\d+\]`).ReplaceAllString(path, "[]"))
		}
		return
	}
	for _, k := range slices.Sorted(maps.Keys(am)) {
		compare(where, path+"."+k, am[k], bm[k])
	}
	for k := range bm {
		if _, ok := am[k]; !ok {
			*where = append(*where, path+"."+k)
		}
	}
}

func clone(obj map[string]any) map[string]any {
	b, _ := json.Marshal(obj)
	out := map[string]any{}
	_ = json.Unmarshal(b, &out)
	return out
}

// values are what a member is replaced by.
var values = []any{
	"", "a", "Bad_Name", "x.y.example.com", strings.Repeat("a", 70), "ünï", "10.0.0.1", "1Gi", "-1", "50%", "*", "2026-01-01T00:00:00Z",
	0, 1, 2, -1, 70000, 80, int64(1) << 40, true, false, nil, map[string]any{}, []any{}, map[string]any{"a": "b"}, []any{"a"},
	"ClusterIP", "NodePort", "Recreate", "Always", "Never", "TCP", "UDP", "ReadWriteMany", "Delete",
}

// damage changes one member of obj, but for its names and what a server keeps.
func (d *differ) damage(obj map[string]any) {
	type place struct {
		in  map[string]any
		key string
	}
	var all []place
	var walk func(v any, top bool)
	walk = func(v any, top bool) {
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				switch k {
				case "name", "namespace", "uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "apiVersion", "kind",
					"clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort":
					if top || k == "managedFields" || k == "uid" || strings.HasPrefix(k, "clusterIP") || strings.HasSuffix(k, "odePort") {
						continue
					}
				}
				all = append(all, place{v, k})
				walk(v[k], k == "metadata")
			}
		case []any:
			for _, x := range v {
				walk(x, false)
			}
		}
	}
	walk(obj, true)
	if len(all) == 0 {
		return
	}
	at := all[d.random.IntN(len(all))]
	if at.key == "metadata" {
		return
	}
	switch old := at.in[at.key].(type) {
	case []any:
		if len(old) > 0 && d.random.IntN(2) == 0 {
			at.in[at.key] = append(slices.Clone(old), old[0])
			return
		}
	case map[string]any:
		if d.random.IntN(3) == 0 {
			at.in[at.key] = map[string]any{}
			return
		}
	case string:
		if d.random.IntN(2) == 0 { // of the same type, so that it is decoded
			at.in[at.key] = values[d.random.IntN(12)]
			return
		}
	case float64:
		if d.random.IntN(2) == 0 {
			at.in[at.key] = values[12+d.random.IntN(7)]
			return
		}
	}
	if d.random.IntN(2) == 0 {
		delete(at.in, at.key)
		return
	}
	at.in[at.key] = values[d.random.IntN(len(values))]
}
