package kinformprom_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/yaml"
)

// kubebuilder are the queries of the dashboard that kubebuilder's plugin for Grafana makes for
// controller-runtime.
var kubebuilder = []string{
	`controller_runtime_active_workers{job="$job", namespace="$namespace"}`,
	`sum(rate(controller_runtime_reconcile_errors_total{job="$job", namespace="$namespace"}[5m])) by (instance, pod)`,
	`sum(rate(controller_runtime_reconcile_total{job="$job", namespace="$namespace"}[5m])) by (instance, pod)`,
	`workqueue_depth{job="$job", namespace="$namespace"}`,
	`histogram_quantile(0.50, sum(rate(workqueue_queue_duration_seconds_bucket{job="$job", namespace="$namespace"}[5m])) by (instance, name, le))`,
	`sum(rate(workqueue_adds_total{job="$job", namespace="$namespace"}[5m])) by (instance, name)`,
	`rate(workqueue_unfinished_work_seconds{job="$job", namespace="$namespace"}[5m])`,
	`histogram_quantile(0.50, sum(rate(workqueue_work_duration_seconds_bucket{job="$job", namespace="$namespace"}[5m])) by (instance, name, le))`,
	`sum(rate(workqueue_retries_total{job="$job", namespace="$namespace"}[5m])) by (instance, name)`,
}

// dashboard returns the queries of the dashboard.
func dashboard(t *testing.T) (queries []string) {
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	content, err := os.ReadFile("dashboards/kinform.json")
	must(t, err)
	must(t, json.Unmarshal(content, &board))
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			queries = append(queries, target.Expr)
		}
	}
	return queries
}

// alerts returns the queries of the alert rules.
func alerts(t *testing.T) (queries []string) {
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations map[string]string
			}
		}
	}
	content, err := os.ReadFile("dashboards/alerts.yaml")
	must(t, err)
	must(t, yaml.Unmarshal(content, &rules))
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" || r.Annotations["summary"] == "" {
				t.Errorf("the rule %+v is not complete", r)
			}
			queries = append(queries, r.Expr)
		}
	}
	return queries
}

// TestQueries holds the queries of the dashboard, of the alerts and of kubebuilder's dashboard to
// metrics and labels that the scene shows. It reads no more of PromQL than names: the parser of
// Prometheus would bring 100 modules into ours.
func TestQueries(t *testing.T) {
	known := labelsOf(play(t))
	for _, c := range []struct {
		from    string
		queries []string
		least   int
	}{{"dashboard", dashboard(t), 30}, {"alerts", alerts(t), 12}, {"kubebuilder", kubebuilder, 9}} {
		if len(c.queries) < c.least {
			t.Errorf("%s: only %d queries were found", c.from, len(c.queries))
		}
		for _, query := range c.queries {
			for _, fault := range faults(query, known) {
				t.Errorf("%s: %s: %s", c.from, query, fault)
			}
		}
	}
	for _, bad := range []string{
		`sum(rate(workqueue_add_total[5m]))`, `sum by (nam) (workqueue_depth)`, `workqueue_depth{nam="a"}`, `sum(workqueue_depth`,
		`workqueue_adds_total_bucket`, `vector(1)`, `sum by (le) (rate(workqueue_adds_total[5m]))`,
	} {
		if len(faults(bad, known)) == 0 {
			t.Errorf("no fault was found in %s", bad)
		}
	}
}

// labelsOf returns the labels of each series' name.
func labelsOf(families []*dto.MetricFamily) map[string][]string {
	known := map[string][]string{}
	for _, f := range families {
		var names []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			names = append(names, l.GetName())
		}
		switch f.GetType() {
		case dto.MetricType_HISTOGRAM:
			known[f.GetName()+"_bucket"] = append(slices.Clone(names), "le")
			fallthrough
		case dto.MetricType_SUMMARY:
			known[f.GetName()+"_sum"], known[f.GetName()+"_count"] = names, names
		default:
			known[f.GetName()] = names
		}
	}
	return known
}

var (
	quoted   = regexp.MustCompile(`"[^"]*"`)
	ranges   = regexp.MustCompile(`\[[^]]*\]`)
	grouping = regexp.MustCompile(`\b(?:by|without|on|ignoring) *\(([^)]*)\)`)
	matchers = regexp.MustCompile(`\{([^}]*)\}`)
	word     = regexp.MustCompile(`[a-zA-Z_:][\w:]*`)
	function = regexp.MustCompile(`\b(?:sum|max|rate|increase|histogram_quantile|time|min_over_time) *\(`)
)

// added are the labels that a scrape adds.
var added = []string{"job", "namespace", "instance", "pod"}

// faults returns what is wrong with a query.
func faults(query string, known map[string][]string) (all []string) {
	if strings.Count(query, "(") != strings.Count(query, ")") || strings.Count(query, "{") != strings.Count(query, "}") {
		all = append(all, "brackets do not match")
	}
	rest := ranges.ReplaceAllString(quoted.ReplaceAllString(query, `""`), "")
	var used []string
	for _, list := range append(grouping.FindAllStringSubmatch(rest, -1), matchers.FindAllStringSubmatch(rest, -1)...) {
		used = append(used, word.FindAllString(list[1], -1)...)
	}
	rest = function.ReplaceAllString(matchers.ReplaceAllString(grouping.ReplaceAllString(rest, " "), " "), "(")
	names := word.FindAllString(rest, -1)
	if len(names) == 0 {
		all = append(all, "it has no metric")
	}
	for _, name := range names {
		if known[name] == nil {
			all = append(all, "there is no "+name)
			continue
		}
		for _, label := range used {
			if !slices.Contains(added, label) && !slices.Contains(known[name], label) {
				all = append(all, name+" has no label "+label)
			}
		}
	}
	return all
}
