package strategies_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/envtest/apiserver"
	"github.com/kinform/kinform/with/strategies"
)

// kubectl is the program with what all its calls to one server have in common.
type kubectl struct {
	path, home string
	args       []string
}

func (k kubectl) run(t *testing.T, line, input string) string {
	t.Helper()
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	cmd := exec.CommandContext(t.Context(), k.path, append(append([]string{}, k.args...), words...)...)
	cmd.Env = []string{"HOME=" + k.home, "KUBECONFIG=" + filepath.Join(k.home, "none"), "PATH=" + os.Getenv("PATH"), "TZ=UTC", "EDITOR=sed -i s/first/second/"}
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s[exit %d]", bytes.TrimSpace(out), cmd.ProcessState.ExitCode())
}

// byChance is what differs in the outputs of two servers that act alike.
var byChance = regexp.MustCompile(strings.Join([]string{
	`[0-9a-f]{8}-[0-9a-f-]{27}`, // uids
	`\b10\.0\.0\.\d+\b`,         // addresses of Services
	`\b3[0-2]\d{3}\b`,           // and their ports
	`\b(\d+m)?\d+m?s(econds)?( ago)?\b|<unknown>|\bnow\b`, // ages
	`(?i)resource ?version: +"?\d+"?`,
	`\d{4}-\d\d-\d\d [\d:.]+ \+0000`,
	`\w{3}, \d\d \w{3} \d{4} [\d:]+ \+0000|\d{4}-\d\d-\d\dT[\d:.]+Z`,
	`https?://[\w.:]+`,
	`eyJ[\w-]+\.[\w-]+\.[\w-]*`, // tokens
	`\+kinform[-a-z]*`,
	`/tmp/\S+`,
	` +`, // columns are as wide as what they show
}, "|"))

func normalOutput(text string) string { return byChance.ReplaceAllString(text, " ") }

const kubectlObjects = `
apiVersion: v1
kind: ConfigMap
metadata: {name: c, labels: {app: web}}
data: {a: b}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {a: b}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'i:1', ports: [{containerPort: 80}]}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}, {name: Made, type: date, jsonPath: .metadata.creationTimestamp}, {name: Note, type: string, jsonPath: .spec.note, priority: 1}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, required: [size], properties: {size: {type: integer, minimum: 1, description: How large it is.}, note: {type: string}}}
          status: {type: object, properties: {ready: {type: boolean}}}
`

// commands are what people type, with what the command reads.
var commands = [][2]string{
	{"apply -f -", kubectlObjects},
	{"wait --for=condition=Established crd/widgets.example.com --timeout=30s", ""},
	{"get all", ""},
	{"get deploy,svc,cm,secret -o wide", ""},
	{"get deploy web -o yaml", ""},
	{"get deploy -o jsonpath={.items[*].spec.replicas}", ""},
	{"get cm -l app=web -o name", ""},
	{"get pods", ""},
	{"apply -f -", "{apiVersion: example.com/v1, kind: Widget, metadata: {name: one}, spec: {size: 3, note: first}}"},
	{"apply -f -", "{apiVersion: example.com/v1, kind: Widget, metadata: {name: two}, spec: {size: 0}}"},
	{"get wd", ""},
	{"get widgets -o wide", ""},
	{"describe widget one", ""},
	{"explain widgets.spec.size", ""},
	{"explain widget", ""},
	{"explain --recursive widget", ""},
	{"explain deployment.spec.replicas", ""},
	{"explain deployment.spec.strategy", ""},
	{"explain --recursive deployment", ""},
	{"explain pods", ""},
	{"explain pod.spec.containers.ports", ""},
	{"explain pod.spec.affinity --recursive", ""},
	{"explain --recursive service", ""},
	{"explain statefulset.spec", ""},
	{"explain daemonset.spec.updateStrategy.rollingUpdate.maxSurge", ""},
	{"explain configmap", ""},
	{"explain secret.type", ""},
	{"explain node.status", ""},
	{"explain ns.spec.finalizers", ""},
	{"explain pv.spec.accessModes", ""},
	{"explain pvc.spec", ""},
	{"explain sa", ""},
	{"explain events", ""},
	{"explain events.events.k8s.io", ""},
	{"explain hpa.spec.metrics --recursive", ""},
	{"explain hpa --api-version=autoscaling/v1", ""},
	{"explain job.spec", ""},
	{"explain cronjob.spec.concurrencyPolicy", ""},
	{"explain ingress.spec --recursive", ""},
	{"explain networkpolicy.spec.ingress", ""},
	{"explain pdb.spec", ""},
	{"explain role.rules", ""},
	{"explain clusterrolebinding.roleRef", ""},
	{"explain storageclass", ""},
	{"explain lease.spec", ""},
	{"explain endpointslice.endpoints", ""},
	{"explain crd.spec", ""},
	{"explain crd.spec.versions.schema.openAPIV3Schema", ""},
	{"explain validatingwebhookconfiguration.webhooks", ""},
	{"explain subjectaccessreview.spec", ""},
	{"explain pod.spec.nothing", ""},
	{"explain pod --output=plaintext-openapiv2", ""},
	{"explain deployment --recursive --output=plaintext-openapiv2", ""},
	{"explain widget.spec --output=plaintext-openapiv2", ""},
	{"edit widget one", ""},
	{"get widget one -o jsonpath={.spec.note}", ""},
	{"apply -f -", strings.Replace(kubectlObjects, "replicas: 2", "replicas: 3", 1)},
	{"diff -f -", strings.Replace(kubectlObjects, "replicas: 2", "replicas: 4", 1)},
	{"apply --server-side --force-conflicts -f -", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: c}}"},
	{"replace -f -", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {app: web}}, data: {a: d}}"},
	{"patch deploy web -p '{\"spec\":{\"paused\":true}}'", ""},
	{"patch deploy web --type=json -p '[{\"op\":\"remove\",\"path\":\"/spec/paused\"}]'", ""},
	{"patch deploy web -p '{\"spec\":{\"replicas\":-1}}'", ""},
	{"scale deploy web --replicas=5", ""},
	{"set image deploy/web web=i:2", ""},
	{"set env deploy/web A=b", ""},
	{"set resources deploy/web --limits=cpu=1", ""},
	{"label deploy web tier=front", ""},
	{"label deploy web tier-", ""},
	{"annotate deploy web note=x", ""},
	{"rollout pause deploy/web", ""},
	{"rollout resume deploy/web", ""},
	{"rollout restart deploy/web", ""},
	{"rollout status deploy/web --watch=false", ""},
	{"rollout history deploy/web", ""},
	{"expose deploy web --name=other --port=8080 --type=NodePort", ""},
	{"autoscale deploy web --min=1 --max=3", ""},
	{"get hpa", ""},
	{"describe deploy web", ""},
	{"describe svc web --show-events=false", ""}, // a starting server may repair the address, and says so
	{"create configmap d --from-literal=x=y", ""},
	{"create secret generic t --from-literal=x=y", ""},
	{"create namespace more", ""},
	{"create serviceaccount sa", ""},
	{"create role r --verb=get --resource=pods", ""},
	{"create rolebinding rb --role=r --serviceaccount=default:sa", ""},
	{"create quota q --hard=pods=3", ""},
	{"create job j --image=i", ""},
	{"create cronjob cj --image=i --schedule='* * * * *'", ""},
	{"create ingress in --rule=a.example.com/*=web:80", ""},
	{"create pdb p --selector=app=web --min-available=1", ""},
	{"get sa,role,rolebinding,job,cronjob,ingress,pdb,ns", ""},
	{"create token sa", ""},
	{"run p --image=i --restart=Never", ""},
	{"get pods -o wide", ""},
	{"describe pod p", ""},
	{"get pod p -o yaml", ""},
	{"logs p", ""},
	{"logs p -c none", ""},
	{"logs none", ""},
	{"wait --for=condition=Ready pod/p --timeout=100ms", ""},
	{"patch pod p --subresource=status --type=merge -p '{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}'", ""},
	{"wait --for=condition=Ready pod/p --timeout=5s", ""},
	{"get pods --field-selector=status.phase=Running", ""},
	{"get pods --sort-by=.metadata.name -A", ""},
	{"apply -f -", "{apiVersion: v1, kind: Node, metadata: {name: n}, status: {capacity: {cpu: '4'}}}"},
	{"cordon n", ""},
	{"get nodes", ""},
	{"uncordon n", ""},
	{"taint node n a=b:NoSchedule", ""},
	{"drain n", ""},
	{"describe node n", ""},
	{"events --for=pod/p", ""},
	{"auth can-i create pods", ""},
	{"auth can-i list nodes --as=bob", ""},
	{"api-resources --api-group=apps", ""},
	{"api-resources --api-group=example.com", ""},
	{"api-resources", ""},
	{"api-versions", ""},
	{"cluster-info", ""},
	{"get --raw /healthz", ""},
	{"get nothing", ""},
	{"get pod none", ""},
	{"delete pod p --force --grace-period=0", ""},
	{"delete deploy web", ""},
	{"delete cm,secret --all", ""},
	{"delete widget one --ignore-not-found", ""},
	{"delete crd widgets.example.com", ""},
	{"delete job j", ""},
}

// TestKubectl compares what kubectl prints for a kube-apiserver and for the fake.
func TestKubectl(t *testing.T) {
	if os.Getenv(cluster.Variable) != "1" {
		t.Skipf("set %s=1 to compare with a kube-apiserver", cluster.Variable)
	}
	path, err := cluster.Kubectl(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte("secret,admin,1,system:masters\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := apiserver.New(apiserver.Options{TokenFile: tokens, RBAC: true, Fake: fake.Options{Strategy: strategies.New()}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewTLSServer(server)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	real := cluster.Start(t, cluster.Options{ExtraAPIServerArgs: []string{"--allow-privileged=true"}})
	ours := kubectl{path, t.TempDir(), []string{"--server=" + web.URL, "--token=secret", "--insecure-skip-tls-verify"}}
	theirs := kubectl{path, t.TempDir(), []string{"--server=" + real.URL(), "--token=" + real.Token(), "--certificate-authority=" + real.CAFile()}}
	differ := 0
	for _, c := range commands {
		want, got := normalOutput(theirs.run(t, c[0], c[1])), normalOutput(ours.run(t, c[0], c[1]))
		why, known := kubectlDiffers[c[0]]
		switch d := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); {
		case d != "" && known:
			differ++
		case d != "":
			t.Errorf("kubectl %s: -real +fake\n%.3000s", c[0], d)
		case known:
			t.Errorf("kubectl %s is printed alike, but listed: %s", c[0], why)
		}
	}
	t.Logf("%d commands, of which %d are printed differently", len(commands), differ)
}

// kubectlDiffers has the commands that print something else, with the reason.
var kubectlDiffers = map[string]string{
	"api-resources": "the fake has no componentstatuses and apiservices",
	"api-versions":  "the fake has no apiregistration.k8s.io/v1",
}
