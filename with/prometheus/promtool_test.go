package kinformprom_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kinform/kinform/fake"
)

// published are queries of other published dashboards and pages for client-go and
// controller-runtime: the controller manager's dashboard of kubernetes-mixin, and the ones that
// many operators show. What asks for one status code has data only if there was one.
var published = []string{
	`sum(rate(workqueue_adds_total{job="$job", instance=~".+"}[5m])) by (instance, name)`,
	`sum(rate(workqueue_depth{job="$job", instance=~".+"}[5m])) by (instance, name)`,
	`histogram_quantile(0.99, sum(rate(workqueue_queue_duration_seconds_bucket{job="$job", instance=~".+"}[5m])) by (instance, name, le))`,
	`sum(rate(rest_client_requests_total{job="$job", instance=~".+", code=~"2.."}[5m]))`,
	`histogram_quantile(0.99, sum(rate(rest_client_request_duration_seconds_bucket{job="$job", verb="POST"}[5m])) by (verb, url, le))`,
	`histogram_quantile(0.99, sum(rate(rest_client_request_duration_seconds_bucket{job="$job", verb="GET"}[5m])) by (verb, url, le))`,
	`process_resident_memory_bytes{job="$job"}`,
	`rate(process_cpu_seconds_total{job="$job"}[5m])`,
	`go_goroutines{job="$job"}`,
	`histogram_quantile(0.95, sum by (controller, le) (rate(controller_runtime_reconcile_time_seconds_bucket[5m])))`,
	`sum by (controller, result) (rate(controller_runtime_reconcile_total[5m]))`,
	`controller_runtime_active_workers / controller_runtime_max_concurrent_reconciles`,
	`histogram_quantile(0.99, sum by (name, le) (rate(workqueue_work_duration_seconds_bucket[5m])))`,
	`rate(workqueue_queue_duration_seconds_sum[5m]) / rate(workqueue_queue_duration_seconds_count[5m])`,
	`sum by (name) (workqueue_depth)`,
	`workqueue_longest_running_processor_seconds`,
	`leader_election_master_status`,
}

// series are the values of each series in one scrape after the other, "_" where it was absent.
type series map[string][]string

// scraped plays the scene for ten minutes, with a new pod and a scrape every 30 seconds.
func scraped(t *testing.T) (all series, times int) {
	all = series{}
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		registry := prometheus.NewRegistry()
		must(t, registry.Register(s.metrics))
		must(t, registry.Register(collectors.NewGoCollector()))
		must(t, registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.work.Run(ctx) }()
		synctest.Wait()
		for ; times <= 20; times++ {
			for _, name := range []string{"done", "broken", "later", "now", "never", "panics", "written"} {
				_, err := s.pods.Create(ctx, fake.Object(&corev1.Pod{}, "prod", fmt.Sprint(name, times)), metav1.CreateOptions{})
				must(t, err)
			}
			time.Sleep(30 * time.Second)
			families, err := registry.Gather()
			must(t, err)
			for line := range strings.Lines(text(t, families)) {
				if strings.HasPrefix(line, "#") {
					continue
				}
				at := strings.LastIndex(strings.TrimSpace(line), " ")
				name, value := line[:at], strings.TrimSpace(line[at:])
				for len(all[name]) < times {
					all[name] = append(all[name], "_")
				}
				all[name] = append(all[name], value)
			}
		}
		stop()
		must(t, <-ended)
	})
	return all, times
}

// labelled adds the labels that Prometheus adds to what it scrapes.
func labelled(name string) string {
	const more = `job="j",namespace="n",instance="i",pod="p"}`
	if before, found := strings.CutSuffix(name, "}"); found {
		return before + "," + more
	}
	return name + "{" + more
}

// TestEveryQueryHasData evaluates the queries of the dashboard and of published ones with
// Prometheus' own engine, which promtool of Debian's package prometheus has, and asks it whether
// the alert rules are valid.
func TestEveryQueryHasData(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("there is no promtool")
	}
	all, times := scraped(t)
	var input []map[string]string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		input = append(input, map[string]string{"series": labelled(name), "values": strings.Join(all[name], " ")})
	}
	at := (time.Duration(times-1) * 30 * time.Second).String()
	fill := strings.NewReplacer("$job", "j", "$namespace", "n", "$__rate_interval", "5m", "$__range", "10m", "$instance", ".+", "$name", ".+")
	var tests []any
	const absent = "kinform_no_such_metric"
	for _, query := range slices.Concat(dashboard(t), kubebuilder, published, []string{absent}) {
		query = strings.TrimSuffix(query, " > 0") // it hides what has only zeros
		tests = append(tests, map[string]any{
			"expr": "count(" + fill.Replace(query) + ") > bool 0", "eval_time": at, "exp_samples": []any{map[string]any{"labels": "{}", "value": 1}},
		})
	}
	content, err := yaml.Marshal(map[string]any{"evaluation_interval": "30s", "tests": []any{map[string]any{
		"interval": "30s", "input_series": input, "promql_expr_test": tests,
	}}})
	must(t, err)
	path := filepath.Join(t.TempDir(), "test.yaml")
	must(t, os.WriteFile(path, content, 0o600))
	out, err := exec.Command(promtool, "test", "rules", path).CombinedOutput()
	if err == nil || strings.Count(string(out), "expr:") != 1 || !strings.Contains(string(out), absent) {
		t.Errorf("%v: want data for all queries but the one for a metric that does not exist:\n%s", err, out)
	}
	if out, err := exec.Command(promtool, "check", "rules", "dashboards/alerts.yaml").CombinedOutput(); err != nil {
		t.Errorf("alert rules: %s", out)
	}
}
