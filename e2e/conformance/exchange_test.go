package conformance

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// server is the server under test of a script.
type server struct {
	url  string
	http *http.Client
	// compact forgets the history up to now.
	compact func(ctx context.Context) error
}

// run is one run of a script in its own namespace.
type run struct {
	t         *testing.T
	srv       server
	namespace string
	versions  map[string][]string // of objects by kind and name, as they appear
	last      map[string]any      // the last object or list that was answered
	saved     map[string]map[string]any
	showAll   bool // answers show all fields of objects
}

// patchTypes are the verbs that stand for a PATCH.
var patchTypes = map[string]string{
	"MERGE":     "application/merge-patch+json",
	"JSONPATCH": "application/json-patch+json",
	"STRATEGIC": "application/strategic-merge-patch+json",
	"APPLY":     "application/apply-patch+yaml",
}

// shorthands for the resources that scripts use.
var paths = strings.NewReplacer(
	"cm:", "/api/v1/namespaces/NS/configmaps", "pods:", "/api/v1/namespaces/NS/pods",
	"deploy:", "/apis/apps/v1/namespaces/NS/deployments", "leases:", "/apis/coordination.k8s.io/v1/namespaces/NS/leases",
	"roles:", "/apis/rbac.authorization.k8s.io/v1/namespaces/NS/roles", "quotas:", "/api/v1/namespaces/NS/resourcequotas",
	"svc:", "/api/v1/namespaces/NS/services", "sas:", "/api/v1/namespaces/NS/serviceaccounts",
	"rcs:", "/api/v1/namespaces/NS/replicationcontrollers", "podtemplates:", "/api/v1/namespaces/NS/podtemplates",
	"jobs:", "/apis/batch/v1/namespaces/NS/jobs", "classes:", "/apis/storage.k8s.io/v1/storageclasses",
	"nodes:", "/api/v1/nodes", "pvs:", "/api/v1/persistentvolumes", "pvcs:", "/api/v1/namespaces/NS/persistentvolumeclaims",
	"namespaces:", "/api/v1/namespaces", "limits:", "/api/v1/namespaces/NS/limitranges",
	"newevents:", "/apis/events.k8s.io/v1/namespaces/NS/events", "oldhpas:", "/apis/autoscaling/v1/namespaces/NS/horizontalpodautoscalers",
	"endpoints:", "/api/v1/namespaces/NS/endpoints", "events:", "/api/v1/namespaces/NS/events",
	"slices:", "/apis/discovery.k8s.io/v1/namespaces/NS/endpointslices", "prios:", "/apis/scheduling.k8s.io/v1/priorityclasses",
	"hooks:", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
	"csidrivers:", "/apis/storage.k8s.io/v1/csidrivers", "clusterroles:", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
	"sets:", "/apis/apps/v1/namespaces/NS/statefulsets", "daemons:", "/apis/apps/v1/namespaces/NS/daemonsets",
	"rss:", "/apis/apps/v1/namespaces/NS/replicasets", "revisions:", "/apis/apps/v1/namespaces/NS/controllerrevisions",
	"cronjobs:", "/apis/batch/v1/namespaces/NS/cronjobs", "ingresses:", "/apis/networking.k8s.io/v1/namespaces/NS/ingresses",
	"netpols:", "/apis/networking.k8s.io/v1/namespaces/NS/networkpolicies", "pdbs:", "/apis/policy/v1/namespaces/NS/poddisruptionbudgets",
	"hpas:", "/apis/autoscaling/v2/namespaces/NS/horizontalpodautoscalers", "csrs:", "/apis/certificates.k8s.io/v1/certificatesigningrequests",
	"widgets:", "/apis/example.com/v1/namespaces/NS/widgets", "secrets:", "/api/v1/namespaces/NS/secrets",
	"crds:", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "gadgets:", "/apis/conf.example.com/v1/namespaces/NS/gadgets",
	"bindings:", "/api/v1/namespaces/NS/bindings",
	"gadgetsbeta:", "/apis/conf.example.com/v1beta1/namespaces/NS/gadgets",
)

// play makes all requests of s and fills in the answers.
func (r *run) play(s script) script {
	out := script{name: s.name, steps: append([]step(nil), s.steps...)}
	for i, st := range s.steps {
		if st.verb != "" {
			out.steps[i].want = r.step(st)
		}
	}
	return out
}

func (r *run) step(st step) string {
	switch st.verb {
	case "COMPACT":
		if err := r.srv.compact(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
		return "done"
	case "AWAIT": // a path that the server comes to serve
		return r.await(st)
	case "WAIT": // until times, which are in seconds, differ from the times of the requests before
		time.Sleep(1100 * time.Millisecond)
		return "done"
	case "SAVE": // the last answer, under a name
		r.saved[st.target] = r.last
		return "done"
	case "DISRUPTED": // the status of a budget without its times
		return r.disrupted(st)
	case "GZIP": // a GET whose answer may be compressed
		return r.compressed(st)
	case "PATHS": // those in the body that the answer lists
		return r.listed(st)
	case "CONDITIONS": // of the last object, without their times
		status, _ := r.last["status"].(map[string]any)
		return timeless(status["conditions"])
	case "OWNERS": // the owner references of the last object
		m, _ := r.last["metadata"].(map[string]any)
		return inOrder(m["ownerReferences"])
	case "MANAGED": // what a manager owns in the last object
		return r.managed(st.target)
	}
	method, contentType := st.verb, st.header
	if pt, ok := patchTypes[st.verb]; ok {
		method, contentType = http.MethodPatch, pt
	}
	if method == "WATCH" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.srv.url+r.expand(paths.Replace(st.target)), strings.NewReader(r.expand(st.body)))
	if err != nil {
		r.t.Fatalf("%s: %v", st.text(), err)
	}
	req.Header.Set("Accept", "application/json")
	switch {
	case contentType != "" && method == http.MethodGet:
		req.Header.Set("Accept", contentType)
	case contentType != "":
		req.Header.Set("Content-Type", contentType)
	case st.body != "":
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := r.srv.http.Do(req)
	if err != nil {
		return r.normal("failed: " + err.Error())
	}
	defer resp.Body.Close()
	if st.verb == "WATCH" && resp.StatusCode == http.StatusOK {
		return r.events(resp.Body)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	form := ""
	if got := resp.Header.Get("Content-Type"); got == "application/yaml" {
		form = "in YAML: "
		if b, err = yaml.YAMLToJSONStrict(b); err != nil {
			return fmt.Sprintf("%d bad YAML: %v", resp.StatusCode, err)
		}
	}
	return fmt.Sprintf("%d %s%s", resp.StatusCode, form, r.answer(b))
}

// await asks for a path until the answer is 200, for a minute at least.
func (r *run) await(st step) string {
	for range 1200 {
		req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.srv.url+r.expand(paths.Replace(st.target)), nil)
		if err != nil {
			r.t.Fatalf("%s: %v", st.text(), err)
		}
		resp, err := r.srv.http.Do(req)
		if err != nil {
			r.t.Fatalf("%s: %v", st.text(), err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return "done"
		}
		time.Sleep(50 * time.Millisecond)
	}
	return "not served"
}

// disrupted reads a budget and lists the pods whose eviction it notes, and its conditions.
func (r *run) disrupted(st step) string {
	r.step(step{verb: http.MethodGet, target: st.target})
	status, _ := r.last["status"].(map[string]any)
	pods, _ := status["disruptedPods"].(map[string]any)
	return fmt.Sprint(slices.Sorted(maps.Keys(pods)), " ", inOrder(status["disruptionsAllowed"]), " ", timeless(status["conditions"]))
}

// timeless are the conditions of an object without their times.
func timeless(v any) string {
	conditions, _ := v.([]any)
	for _, c := range conditions {
		for _, name := range []string{"lastTransitionTime", "lastProbeTime"} {
			delete(c.(map[string]any), name)
		}
	}
	return inOrder(conditions)
}

// listed asks for a list of paths. The answer names the step's paths that are in the list.
func (r *run) listed(st step) string {
	code, _, body := r.get(st, "application/json", "identity")
	var list struct{ Paths []string }
	if err := json.Unmarshal(body, &list); err != nil {
		return fmt.Sprintf("%d %v", code, err)
	}
	asked := strings.Fields(st.body)
	return fmt.Sprint(code, " ", slices.DeleteFunc(asked, func(path string) bool { return !slices.Contains(list.Paths, path) }))
}

// compressed asks for a list or a watch and takes it compressed. The answer begins with the encoding.
func (r *run) compressed(st step) string {
	code, encoding, body := r.get(st, "application/json", "gzip")
	if encoding == "gzip" {
		unzipped, err := gzip.NewReader(bytes.NewReader(body))
		if err == nil {
			body, err = io.ReadAll(unzipped)
		}
		if err != nil {
			return fmt.Sprintf("%d %v", code, err)
		}
	}
	answer := ""
	if strings.Contains(st.target, "watch=") && code == http.StatusOK {
		answer = r.events(bytes.NewReader(body))
	} else {
		answer = fmt.Sprintf("%d %s", code, r.answer(body))
	}
	if encoding != "" {
		answer = encoding + ": " + answer
	}
	return answer
}

func (r *run) get(st step, accept, encoding string) (code int, got string, body []byte) {
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.srv.url+r.expand(paths.Replace(st.target)), nil)
	if err != nil {
		r.t.Fatalf("%s: %v", st.text(), err)
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("Accept-Encoding", encoding)
	resp, err := r.srv.http.Do(req)
	if err != nil {
		r.t.Fatalf("%s: %v", st.text(), err)
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(resp.Body); err != nil {
		r.t.Fatalf("%s: %v", st.text(), err)
	}
	return resp.StatusCode, resp.Header.Get("Content-Encoding"), body
}

var reference = regexp.MustCompile(`\$\{([a-z]+):([a-zA-Z.]+)\}`)

// expand puts values in: NS, and ${name:path}, a field of a saved answer.
func (r *run) expand(text string) string {
	text = strings.ReplaceAll(text, "NS", r.namespace)
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		parts := reference.FindStringSubmatch(ref)
		var v any = r.saved[parts[1]]
		for field := range strings.SplitSeq(parts[2], ".") {
			m, ok := v.(map[string]any)
			if !ok {
				r.t.Fatalf("%s: no such value", ref)
			}
			v = m[field]
		}
		return fmt.Sprint(v)
	})
}

// events reads a watch until the server ends it, which every watch of a script asks for.
func (r *run) events(body io.Reader) string {
	var out []string
	scanner := bufio.NewScanner(body)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var ev struct {
			Type   string
			Object json.RawMessage
		}
		if err := json.Unmarshal(scanner.Bytes(), &ev); err != nil {
			return "bad event: " + scanner.Text()
		}
		if ev.Type == "BOOKMARK" {
			// When they come is the server's choice, but for the one that ends the initial events.
			if !strings.Contains(string(ev.Object), "initial-events-end") {
				continue
			}
			out = append(out, "BOOKMARK initial-events-end")
			continue
		}
		out = append(out, ev.Type+" "+r.answer(ev.Object))
	}
	return "200 [" + strings.Join(out, "; ") + "]"
}
