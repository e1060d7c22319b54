package client_test

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// pod has the fields of a Pod that running ones have.
type pod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              podSpec   `json:"spec,omitempty"`
	Status            podStatus `json:"status,omitempty"`
}

type podSpec struct {
	Volumes            []podVolume       `json:"volumes,omitempty"`
	Containers         []podContainer    `json:"containers"`
	RestartPolicy      string            `json:"restartPolicy,omitempty"`
	GracePeriod        *int64            `json:"terminationGracePeriodSeconds,omitempty"`
	DNSPolicy          string            `json:"dnsPolicy,omitempty"`
	NodeSelector       map[string]string `json:"nodeSelector,omitempty"`
	ServiceAccountName string            `json:"serviceAccountName,omitempty"`
	NodeName           string            `json:"nodeName,omitempty"`
	SchedulerName      string            `json:"schedulerName,omitempty"`
	Tolerations        []podToleration   `json:"tolerations,omitempty"`
	Priority           *int32            `json:"priority,omitempty"`
	EnableServiceLinks *bool             `json:"enableServiceLinks,omitempty"`
}

type podVolume struct {
	Name      string `json:"name"`
	Projected *struct {
		Sources     []map[string]json.RawMessage `json:"sources"`
		DefaultMode *int32                       `json:"defaultMode,omitempty"`
	} `json:"projected,omitempty"`
}

type podContainer struct {
	Name            string        `json:"name"`
	Image           string        `json:"image,omitempty"`
	Args            []string      `json:"args,omitempty"`
	Ports           []podPort     `json:"ports,omitempty"`
	Env             []podEnv      `json:"env,omitempty"`
	Resources       podResources  `json:"resources,omitempty"`
	VolumeMounts    []podMount    `json:"volumeMounts,omitempty"`
	ReadinessProbe  *podProbe     `json:"readinessProbe,omitempty"`
	TerminationPath string        `json:"terminationMessagePath,omitempty"`
	PullPolicy      string        `json:"imagePullPolicy,omitempty"`
	SecurityContext *podPrivilege `json:"securityContext,omitempty"`
}

type podPort struct {
	Name          string `json:"name,omitempty"`
	ContainerPort int32  `json:"containerPort"`
	Protocol      string `json:"protocol,omitempty"`
}

type podEnv struct {
	Name      string `json:"name"`
	Value     string `json:"value,omitempty"`
	ValueFrom *struct {
		FieldRef *struct {
			APIVersion string `json:"apiVersion,omitempty"`
			FieldPath  string `json:"fieldPath"`
		} `json:"fieldRef,omitempty"`
	} `json:"valueFrom,omitempty"`
}

type podResources struct {
	Limits   map[string]resource.Quantity `json:"limits,omitempty"`
	Requests map[string]resource.Quantity `json:"requests,omitempty"`
}

type podMount struct {
	Name      string `json:"name"`
	ReadOnly  bool   `json:"readOnly,omitempty"`
	MountPath string `json:"mountPath"`
}

type podProbe struct {
	HTTPGet *struct {
		Path string             `json:"path,omitempty"`
		Port intstr.IntOrString `json:"port"`
	} `json:"httpGet,omitempty"`
	PeriodSeconds    int32 `json:"periodSeconds,omitempty"`
	FailureThreshold int32 `json:"failureThreshold,omitempty"`
}

type podPrivilege struct {
	RunAsUser    *int64 `json:"runAsUser,omitempty"`
	RunAsNonRoot *bool  `json:"runAsNonRoot,omitempty"`
}

type podToleration struct {
	Key      string `json:"key,omitempty"`
	Operator string `json:"operator,omitempty"`
	Effect   string `json:"effect,omitempty"`
	Seconds  *int64 `json:"tolerationSeconds,omitempty"`
}

type podStatus struct {
	Phase      string         `json:"phase,omitempty"`
	Conditions []podCondition `json:"conditions,omitempty"`
	HostIP     string         `json:"hostIP,omitempty"`
	PodIP      string         `json:"podIP,omitempty"`
	PodIPs     []struct {
		IP string `json:"ip,omitempty"`
	} `json:"podIPs,omitempty"`
	StartTime  *metav1.Time         `json:"startTime,omitempty"`
	Containers []podContainerStatus `json:"containerStatuses,omitempty"`
	QOSClass   string               `json:"qosClass,omitempty"`
}

type podCondition struct {
	Type               string      `json:"type"`
	Status             string      `json:"status"`
	LastProbeTime      metav1.Time `json:"lastProbeTime,omitempty"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
}

type podContainerStatus struct {
	Name         string                 `json:"name"`
	State        map[string]podRunState `json:"state,omitempty"`
	Ready        bool                   `json:"ready"`
	RestartCount int32                  `json:"restartCount"`
	Image        string                 `json:"image"`
	ImageID      string                 `json:"imageID"`
	ContainerID  string                 `json:"containerID,omitempty"`
	Started      *bool                  `json:"started,omitempty"`
}

type podRunState struct {
	StartedAt metav1.Time `json:"startedAt,omitempty"`
}

const podFields = `{"f:metadata":{"f:annotations":{".":{},"f:checksum/config":{}},"f:generateName":{},"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"5d5c1f4a-3f2b-4a52-9a38-2c8e5b8f1c11\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:env":{".":{},"k:{\"name\":\"MODE\"}":{".":{},"f:name":{},"f:value":{}},"k:{\"name\":\"NODE\"}":{".":{},"f:name":{},"f:valueFrom":{".":{},"f:fieldRef":{}}}},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{},"f:protocol":{}}},"f:readinessProbe":{".":{},"f:failureThreshold":{},"f:httpGet":{".":{},"f:path":{},"f:port":{}},"f:periodSeconds":{}},"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{},"f:memory":{}},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}},"f:terminationMessagePath":{}}},"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:terminationGracePeriodSeconds":{}}}`

const podStatusFields = `{"f:status":{"f:conditions":{"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Initialized\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:podIPs":{".":{},"k:{\"ip\":\"10.1.17.42\"}":{".":{},"f:ip":{}}},"f:startTime":{}}}`

const podTemplate = `{"kind":"Pod","apiVersion":"v1","metadata":{"generateName":"web-7d9f8c6b5-","labels":{"app":"web","app.kubernetes.io/name":"web","pod-template-hash":"7d9f8c6b5","tier":"frontend"},"annotations":{"checksum/config":"9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-7d9f8c6b5","uid":"5d5c1f4a-3f2b-4a52-9a38-2c8e5b8f1c11","controller":true,"blockOwnerDeletion":true}]},
"spec":{"volumes":[{"name":"kube-api-access-x7k2p","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}}],"defaultMode":420}}],
"containers":[{"name":"web","image":"registry.example.com/shop/web:v1.42.0","args":["--listen=:8080","--log-level=info"],"ports":[{"name":"http","containerPort":8080,"protocol":"TCP"}],"env":[{"name":"MODE","value":"production"},{"name":"NODE","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"spec.nodeName"}}}],"resources":{"limits":{"cpu":"500m","memory":"256Mi"},"requests":{"cpu":"100m","memory":"128Mi"}},"volumeMounts":[{"name":"kube-api-access-x7k2p","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],"readinessProbe":{"httpGet":{"path":"/healthz","port":8080},"periodSeconds":10,"failureThreshold":3},"terminationMessagePath":"/dev/termination-log","imagePullPolicy":"IfNotPresent","securityContext":{"runAsUser":1000,"runAsNonRoot":true}}],
"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"web","nodeName":"node-0017","schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true},
"status":{"phase":"Running","conditions":[{"type":"PodReadyToStartContainers","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-02T03:04:06Z"},{"type":"Initialized","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-02T03:04:05Z"},{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-02T03:04:16Z"},{"type":"ContainersReady","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-02T03:04:16Z"},{"type":"PodScheduled","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-02T03:04:05Z"}],"hostIP":"10.0.0.17","podIP":"10.1.17.42","podIPs":[{"ip":"10.1.17.42"}],"startTime":"2026-01-02T03:04:05Z",
"containerStatuses":[{"name":"web","state":{"running":{"startedAt":"2026-01-02T03:04:07Z"}},"ready":true,"restartCount":0,"image":"registry.example.com/shop/web:v1.42.0","imageID":"registry.example.com/shop/web@sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae","containerID":"containerd://fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9","started":true}],"qosClass":"Burstable"}}`

// podJSON is the i-th pod as a watch sends it, about 5 KB.
func podJSON(i int) []byte {
	var p pod
	if err := json.Unmarshal([]byte(podTemplate), &p); err != nil {
		panic(err)
	}
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	p.Name, p.Namespace = fmt.Sprintf("web-7d9f8c6b5-%05d", i), fmt.Sprintf("shop-%d", i%20)
	p.UID = types.UID(fmt.Sprintf("0c7a4f3e-5b1d-4c8e-9f60-%012d", i))
	p.ResourceVersion, p.Generation, p.CreationTimestamp = fmt.Sprint(100_000+i), 1, at
	p.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "kube-controller-manager", Operation: "Update", APIVersion: "v1", Time: &at,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(podFields),
	}, {
		Manager: "kubelet", Operation: "Update", APIVersion: "v1", Time: &at, Subresource: "status",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(podStatusFields),
	}}
	p.Spec.NodeName = fmt.Sprintf("node-%04d", i%100)
	text, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return text
}
