package strategies_test

import (
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/envtest/apiserver"
	"github.com/kinform/kinform/with/strategies"
)

// step is a request; merge patches have the method PATCH.
type step struct{ method, path, body string }

// admissions are scripts about admission plugins, each for its own namespace, NS.
var admissions = map[string][]step{
	"PodSecurity": {
		{"PATCH", "/api/v1/namespaces/NS", `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted","pod-security.kubernetes.io/warn":"restricted"}}}`},
		{"POST", "NS/pods", `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"i"}]}}`},
		{"POST", "NS/pods", `{"metadata":{"name":"a"},"spec":{"hostNetwork":true,"containers":[{"name":"a","image":"i","securityContext":{"privileged":true}}]}}`},
		{"POST", "NS/pods", `{"metadata":{"name":"a"},"spec":{"securityContext":{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}},"containers":[{"name":"a","image":"i","securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}]}}`},
		{"POST", "/apis/apps/v1/namespaces/NS/deployments", `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"i"}]}}}}`},
		{"PATCH", "/api/v1/namespaces/NS", `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"odd"}}}`},
		{"PATCH", "/api/v1/namespaces/NS", `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`},
		{"POST", "NS/pods", `{"metadata":{"name":"b"},"spec":{"hostPID":true,"containers":[{"name":"a","image":"i"}]}}`},
		{"PATCH", "/api/v1/namespaces/NS", `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"baseline"}}}`},
		{"PATCH", "NS/pods/b", `{"metadata":{"labels":{"a":"b"}}}`},
		{"PATCH", "NS/pods/b", `{"spec":{"containers":[{"name":"a","image":"j"}]}}`},
	},
	"ResourceQuota": {
		{"POST", "NS/resourcequotas", `{"metadata":{"name":"q"},"spec":{"hard":{"pods":"2","requests.cpu":"1","count/configmaps":"1","services":"1","requests.storage":"5Gi"}}}`},
		{"POST", "NS/pods", `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"i","resources":{"requests":{"cpu":"400m"}}}]}}`},
		{"PATCH", "NS/resourcequotas/q/status", `{"status":{"hard":{"pods":"2","requests.cpu":"1","count/configmaps":"1","services":"1","requests.storage":"5Gi"},"used":{"pods":"0","requests.cpu":"0","count/configmaps":"0","services":"0","requests.storage":"0"}}}`},
		{"POST", "NS/pods?dryRun=All", `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"i","resources":{"requests":{"cpu":"400m"}}}]}}`},
		{"POST", "NS/pods", `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"i","resources":{"requests":{"cpu":"400m"}}}]}}`},
		{"POST", "NS/pods", `{"metadata":{"name":"b"},"spec":{"containers":[{"name":"a","image":"i"}]}}`},
		{"POST", "NS/pods", `{"metadata":{"name":"b"},"spec":{"containers":[{"name":"a","image":"i","resources":{"requests":{"cpu":"700m"}}}]}}`},
		{"GET", "NS/resourcequotas/q", ``},
		{"POST", "NS/pods", `{"metadata":{"name":"b"},"spec":{"containers":[{"name":"Bad","image":"i","resources":{"requests":{"cpu":"600m"}}}]}}`},
		{"POST", "NS/pods", `{"metadata":{"name":"b"},"spec":{"containers":[{"name":"a","image":"i","resources":{"requests":{"cpu":"600m"}}}]}}`},
		{"POST", "NS/pods", `{"metadata":{"name":"c"},"spec":{"containers":[{"name":"a","image":"i","resources":{"requests":{"cpu":"0"}}}]}}`},
		{"POST", "NS/configmaps", `{"metadata":{"name":"a"}}`},
		{"POST", "NS/configmaps", `{"metadata":{"name":"b"}}`},
		{"PATCH", "NS/configmaps/a", `{"data":{"a":"b"}}`},
		{"POST", "NS/secrets", `{"metadata":{"name":"a"}}`},
		{"POST", "NS/services", `{"metadata":{"name":"a"},"spec":{"ports":[{"port":80}]}}`},
		{"POST", "NS/services", `{"metadata":{"name":"b"},"spec":{"ports":[{"port":80}]}}`},
		{"POST", "NS/persistentvolumeclaims", `{"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"6Gi"}}}}`},
		{"POST", "NS/persistentvolumeclaims", `{"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`},
		{"GET", "NS/resourcequotas/q", ``},
		{"DELETE", "NS/pods/a", `{"gracePeriodSeconds":0}`},
		{"GET", "NS/resourcequotas/q", ``},
	},
	"MutatingAdmissionPolicy": {
		{"POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies", `{"metadata":{"name":"labels"},"spec":{"matchConstraints":{"objectSelector":{"matchLabels":{"mutate":"labels"}},"resourceRules":[{"operations":["CREATE","UPDATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]},"reinvocationPolicy":"Never","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{labels: {\"by\": \"policy\", \"of\": object.metadata.name}}}"}}]}}`},
		{"POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings", `{"metadata":{"name":"labels"},"spec":{"policyName":"labels"}}`},
		{"POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies", `{"metadata":{"name":"data"},"spec":{"matchConstraints":{"objectSelector":{"matchLabels":{"mutate":"data"}},"resourceRules":[{"operations":["CREATE","UPDATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]},"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('a/b'), value: object.data.x}]"}}]}}`},
		{"POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings", `{"metadata":{"name":"data"},"spec":{"policyName":"data"}}`},
		{"POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies", `{"metadata":{"name":"sidecar"},"spec":{"matchConstraints":{"objectSelector":{"matchLabels":{"mutate":"sidecar"}},"resourceRules":[{"operations":["CREATE","UPDATE"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments"]}]},"reinvocationPolicy":"Never","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: \"side\", image: \"car\"}]}}}}"}}]}}`},
		{"POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings", `{"metadata":{"name":"sidecar"},"spec":{"policyName":"sidecar"}}`},
		{"POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies", `{"metadata":{"name":"unknown"},"spec":{"matchConstraints":{"objectSelector":{"matchLabels":{"mutate":"unknown"}},"resourceRules":[{"operations":["CREATE","UPDATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]},"reinvocationPolicy":"Never","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{lables: {\"by\": \"policy\"}}}"}}]}}`},
		{"POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings", `{"metadata":{"name":"unknown"},"spec":{"policyName":"unknown"}}`},
		{"POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies", `{"metadata":{"name":"fails"},"spec":{"matchConstraints":{"objectSelector":{"matchLabels":{"mutate":"fails"}},"resourceRules":[{"operations":["CREATE","UPDATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]},"reinvocationPolicy":"Never","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{labels: {\"by\": object.data.none}}}"}}]}}`},
		{"POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings", `{"metadata":{"name":"fails"},"spec":{"policyName":"fails"}}`},
		{"POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies", `{"metadata":{"name":"ignored"},"spec":{"matchConstraints":{"objectSelector":{"matchLabels":{"mutate":"ignored"}},"resourceRules":[{"operations":["CREATE","UPDATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]},"reinvocationPolicy":"Never","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{labels: {\"by\": object.data.none}}}"}}],"failurePolicy":"Ignore"}}`},
		{"POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings", `{"metadata":{"name":"ignored"},"spec":{"policyName":"ignored"}}`},
		{"POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies", `{"metadata":{"name":"atomic"},"spec":{"matchConstraints":{"objectSelector":{"matchLabels":{"mutate":"atomic"}},"resourceRules":[{"operations":["CREATE","UPDATE"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments"]}]},"reinvocationPolicy":"Never","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {\"c\": \"d\"}}}}"}}]}}`},
		{"POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings", `{"metadata":{"name":"atomic"},"spec":{"policyName":"atomic"}}`},
		{"POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies", `{"metadata":{"name":"params"},"spec":{"matchConstraints":{"objectSelector":{"matchLabels":{"mutate":"params"}},"resourceRules":[{"operations":["CREATE","UPDATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]},"reinvocationPolicy":"Never","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{labels: {\"by\": params.metadata.name}}}"}}],"paramKind":{"apiVersion":"v1","kind":"ConfigMap"}}}`},
		{"POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings", `{"metadata":{"name":"params"},"spec":{"policyName":"params","paramRef":{"name":"param","parameterNotFoundAction":"Deny"}}}`},
		{"POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies", `{"metadata":{"name":"conditions"},"spec":{"matchConstraints":{"objectSelector":{"matchLabels":{"mutate":"conditions"}},"resourceRules":[{"operations":["CREATE","UPDATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]},"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: 'remove', path: '/data'}]"}}],"matchConditions":[{"name":"c","expression":"object.metadata.name == 'other'"}]}}`},
		{"POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings", `{"metadata":{"name":"conditions"},"spec":{"policyName":"conditions"}}`},
		{"POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies", `{"metadata":{"name":"bad"},"spec":{"mutations":[]}}`},
		{"POST", "NS/configmaps", `{"metadata":{"name":"wait"}}`},
		{"POST", "NS/configmaps", `{"metadata":{"name":"param"}}`},
		{"POST", "NS/configmaps", `{"metadata":{"name":"labels","labels":{"mutate":"labels"}},"data":{"x":"y"}}`},
		{"POST", "NS/configmaps", `{"metadata":{"name":"data","labels":{"mutate":"data"}},"data":{"x":"y"}}`},
		{"POST", "NS/configmaps", `{"metadata":{"name":"unknown","labels":{"mutate":"unknown"}},"data":{"x":"y"}}`},
		{"POST", "NS/configmaps", `{"metadata":{"name":"fails","labels":{"mutate":"fails"}},"data":{"x":"y"}}`},
		{"POST", "NS/configmaps", `{"metadata":{"name":"ignored","labels":{"mutate":"ignored"}},"data":{"x":"y"}}`},
		{"POST", "NS/configmaps", `{"metadata":{"name":"params","labels":{"mutate":"params"}},"data":{"x":"y"}}`},
		{"POST", "NS/configmaps", `{"metadata":{"name":"conditions","labels":{"mutate":"conditions"}},"data":{"x":"y"}}`},
		{"PATCH", "NS/configmaps/labels", `{"metadata":{"labels":{"by":"me"}},"data":{"x":"z"}}`},
		{"PATCH", "NS/configmaps/data", `{"data":{"x":"z"}}`},
		{"DELETE", "NS/configmaps/param", ``},
		{"POST", "NS/configmaps", `{"metadata":{"name":"no-param","labels":{"mutate":"params"}}}`},
		{"POST", "/apis/apps/v1/namespaces/NS/deployments", `{"metadata":{"name":"sidecar","labels":{"mutate":"sidecar"}},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"i"}]}}}}`},
		{"POST", "/apis/apps/v1/namespaces/NS/deployments", `{"metadata":{"name":"atomic","labels":{"mutate":"atomic"}},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"i"}]}}}}`},
		{"DELETE", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/labels", ``},
		{"DELETE", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/data", ``},
		{"DELETE", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/sidecar", ``},
		{"DELETE", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/unknown", ``},
		{"DELETE", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/fails", ``},
		{"DELETE", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/ignored", ``},
		{"DELETE", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/atomic", ``},
		{"DELETE", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/params", ``},
		{"DELETE", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/conditions", ``},
	},
	"LimitRanger": {
		{"POST", "NS/limitranges", `{"metadata":{"name":"l"},"spec":{"limits":[{"type":"Container","default":{"cpu":"500m"},"defaultRequest":{"cpu":"100m"},"max":{"cpu":"1"},"min":{"cpu":"50m"}},{"type":"Pod","max":{"memory":"1Gi"}},{"type":"PersistentVolumeClaim","max":{"storage":"2Gi"}}]}}`},
		{"POST", "NS/pods", `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"i"}]}}`},
		{"POST", "NS/pods", `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"i","resources":{"limits":{"memory":"1Gi"}}}]}}`},
		{"POST", "NS/pods", `{"metadata":{"name":"b"},"spec":{"containers":[{"name":"a","image":"i","resources":{"limits":{"cpu":"2","memory":"2Gi"},"requests":{"cpu":"10m"}}}]}}`},
		{"POST", "NS/persistentvolumeclaims", `{"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"6Gi"}}}}`},
	},
	"Priority and RuntimeClass": {
		{"POST", "/apis/scheduling.k8s.io/v1/priorityclasses", `{"metadata":{"name":"high"},"value":1000,"globalDefault":true,"preemptionPolicy":"Never"}`},
		{"POST", "/apis/scheduling.k8s.io/v1/priorityclasses", `{"metadata":{"name":"other"},"value":7,"globalDefault":true}`},
		{"POST", "/apis/scheduling.k8s.io/v1/priorityclasses", `{"metadata":{"name":"low"},"value":-5}`},
		{"POST", "NS/pods", `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"i"}]}}`},
		{"POST", "NS/pods", `{"metadata":{"name":"b"},"spec":{"priorityClassName":"low","containers":[{"name":"a","image":"i"}]}}`},
		{"POST", "NS/pods", `{"metadata":{"name":"c"},"spec":{"priorityClassName":"none","containers":[{"name":"a","image":"i"}]}}`},
		{"POST", "NS/pods", `{"metadata":{"name":"c"},"spec":{"priority":3,"containers":[{"name":"a","image":"i"}]}}`},
		{"POST", "NS/pods", `{"metadata":{"name":"c"},"spec":{"priorityClassName":"system-node-critical","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists"}],"containers":[{"name":"a","image":"i"}]}}`},
		{"POST", "/apis/node.k8s.io/v1/runtimeclasses", `{"metadata":{"name":"r"},"handler":"h","overhead":{"podFixed":{"cpu":"10m"}},"scheduling":{"nodeSelector":{"a":"b"}}}`},
		{"POST", "NS/pods", `{"metadata":{"name":"d"},"spec":{"runtimeClassName":"r","containers":[{"name":"a","image":"i"}]}}`},
		{"POST", "NS/pods", `{"metadata":{"name":"e"},"spec":{"runtimeClassName":"none","containers":[{"name":"a","image":"i"}]}}`},
	},
	"Nodes": {
		{"POST", "/api/v1/nodes", `{"metadata":{"name":"zoned","labels":{"topology.kubernetes.io/zone":"z","topology.kubernetes.io/region":"r","other":"x"}}}`},
		{"POST", "NS/pods", `{"metadata":{"name":"a","labels":{"topology.kubernetes.io/zone":"own"}},"spec":{"nodeName":"zoned","containers":[{"name":"a","image":"i"}]}}`},
		{"POST", "NS/pods", `{"metadata":{"name":"b"},"spec":{"containers":[{"name":"a","image":"i"}]}}`},
		{"POST", "NS/pods/b/binding", `{"metadata":{"name":"b","labels":{"l":"m"},"annotations":{"n":"o"}},"target":{"kind":"Node","name":"zoned"}}`},
		{"GET", "NS/pods/b", ``},
		{"POST", "NS/pods", `{"metadata":{"name":"c","labels":{"topology.kubernetes.io/zone":"own"},"annotations":{"n":"own"}},"spec":{"containers":[{"name":"a","image":"i"}]}}`},
		{"POST", "NS/pods/c/binding", `{"metadata":{"name":"c","annotations":{"n":"o"}},"target":{"kind":"Node","name":"none"}}`},
		{"GET", "NS/pods/c", ``},
		{"POST", "NS/pods", `{"metadata":{"name":"d"},"spec":{"containers":[{"name":"a","image":"i"}]}}`},
		{"POST", "NS/pods/d/binding", `{"metadata":{"name":"d"},"target":{"kind":"Node","name":"zoned"}}`},
		{"POST", "NS/pods/d/binding", `{"metadata":{"name":"d"},"target":{"kind":"Node","name":"zoned"}}`},
		{"POST", "NS/pods/d/binding", `{"metadata":{"name":"d"},"target":{"kind":"Odd","name":"zoned"}}`},
		{"GET", "NS/pods/d", ``},
	},
	"Defaults of classes": {
		{"POST", "/apis/storage.k8s.io/v1/storageclasses", `{"metadata":{"name":"s","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"p"}`},
		{"POST", "NS/persistentvolumeclaims", `{"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`},
		{"PATCH", "NS/persistentvolumeclaims/a", `{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`},
		{"POST", "/apis/networking.k8s.io/v1/ingressclasses", `{"metadata":{"name":"i","annotations":{"ingressclass.kubernetes.io/is-default-class":"true"}},"spec":{"controller":"example.com/c"}}`},
		{"POST", "/apis/networking.k8s.io/v1/namespaces/NS/ingresses", `{"metadata":{"name":"a"},"spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}}}`},
		{"POST", "/api/v1/nodes", `{"metadata":{"name":"n"}}`},
		{"POST", "/api/v1/namespaces/none/pods", `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"i"}]}}`},
	},
}

// TestAdmissionPlugins sends the same scripts to a kube-apiserver and to the fake, and compares the
// answers whole.
func TestAdmissionPlugins(t *testing.T) {
	if os.Getenv(cluster.Variable) != "1" {
		t.Skipf("set %s=1 to compare with a kube-apiserver", cluster.Variable)
	}
	ours, err := apiserver.New(apiserver.Options{Fake: fake.Options{Strategy: strategies.New()}})
	if err != nil {
		t.Fatal(err)
	}
	cl := cluster.Start(t, cluster.Options{ExtraAPIServerArgs: []string{"--allow-privileged=true"}})
	sides := []side{newSide(cl.URL(), cl.HTTPClient()), newSide(fake.URL, &http.Client{Transport: inProcess{ours}})}
	n := 0
	for name, script := range admissions {
		n++
		ns := fmt.Sprint("n", n)
		t.Run(name, func(t *testing.T) {
			for _, s := range sides {
				s.send(t, http.MethodPost, "/api/v1/namespaces", "application/json", map[string]any{"metadata": map[string]any{"name": ns}})
			}
			for _, r := range script {
				real, own := r.send(t, sides[0], ns), r.send(t, sides[1], ns)
				if r.method != http.MethodGet {
					time.Sleep(500 * time.Millisecond) // the plugins of the API server read from caches what was written
				}
				for _, answer := range []map[string]any{real, own} {
					withoutTransitions(answer)
				}
				if !reflect.DeepEqual(real, own) {
					t.Errorf("%s %s %s\n-API server +fake\n%s", r.method, r.path, r.body, cmp.Diff(real, own))
				}
			}
		})
	}
}

// send returns the answer and its code.
func (r step) send(t *testing.T, to side, ns string) map[string]any {
	path := strings.Replace(r.path, "NS", ns, 1)
	if !strings.HasPrefix(path, "/") {
		path = "/api/v1/namespaces/" + path
	}
	contentType := "application/json"
	if r.method == http.MethodPatch {
		contentType = "application/merge-patch+json"
	}
	var body any
	if r.body != "" {
		body = raw(r.body)
	}
	code, out := to.send(t, r.method, path, contentType, body)
	normal(out)
	out["answered with"] = code
	return out
}

// raw is JSON.
type raw string

// MarshalJSON implements json.Marshaler.
func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// withoutTransitions removes from a Pod when its conditions changed, and the generation, which a
// binding changes here and not in an API server.
func withoutTransitions(answer map[string]any) {
	if answer["kind"] != "Pod" {
		return
	}
	delete(answer["metadata"].(map[string]any), "generation")
	conditions, _ := answer["status"].(map[string]any)["conditions"].([]any)
	for _, c := range conditions {
		delete(c.(map[string]any), "lastTransitionTime")
	}
}
