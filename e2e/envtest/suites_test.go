//go:build e2e

package envtest

// suite is one of a module's packages with specs or tests.
type suite struct {
	folder string
	long   bool
}

var controllerRuntime = []suite{
	{folder: "pkg/client"},
	{folder: "pkg/envtest"},
	{folder: "pkg/webhook"},
	{folder: "pkg/builder", long: true},
	{folder: "pkg/cache", long: true},
	{folder: "pkg/cluster", long: true},
	{folder: "pkg/controller", long: true},
	{folder: "pkg/controller/controllerutil", long: true},
	{folder: "pkg/handler", long: true},
	{folder: "pkg/internal/controller", long: true},
	{folder: "pkg/internal/recorder", long: true},
	{folder: "pkg/manager", long: true},
	{folder: "pkg/source", long: true},
}

// operator is a module whose own suites run. Each compiles another version of Kubernetes' libraries, so all are long.
type operator struct {
	module  string
	version string
	suites  []suite
}

var operators = []operator{
	{"sigs.k8s.io/lws", "v0.7.0", []suite{
		{folder: "test/integration/controllers"},
		{folder: "test/integration/webhooks"},
	}},
	{"sigs.k8s.io/jobset", "v0.10.1", []suite{
		{folder: "test/integration/controller"},
		{folder: "test/integration/webhook"},
	}},
	{"sigs.k8s.io/cluster-api", "v1.14.2", []suite{
		{folder: "controllers/clustercache"},
		{folder: "core/reconcilers/clusterresourceset"},
		{folder: "core/reconcilers/machineset"},
		{folder: "internal/util/ssa/test"},
	}},
	{"sigs.k8s.io/karpenter", "v1.14.0", []suite{
		{folder: "pkg/controllers/capacitybuffer"},
		{folder: "pkg/controllers/dynamicresources/deviceallocation"},
		{folder: "pkg/controllers/metrics/node"},
		{folder: "pkg/controllers/metrics/nodepool"},
		{folder: "pkg/controllers/metrics/pod"},
		{folder: "pkg/controllers/node/health"},
		{folder: "pkg/controllers/node/hydration"},
		{folder: "pkg/controllers/node/termination"},
		{folder: "pkg/controllers/node/termination/terminator"},
		{folder: "pkg/controllers/nodeclaim/consistency"},
		{folder: "pkg/controllers/nodeclaim/disruption"},
		{folder: "pkg/controllers/nodeclaim/expiration"},
		{folder: "pkg/controllers/nodeclaim/garbagecollection"},
		{folder: "pkg/controllers/nodeclaim/hydration"},
		{folder: "pkg/controllers/nodeclaim/lifecycle"},
		{folder: "pkg/controllers/nodeclaim/podevents"},
		{folder: "pkg/controllers/nodeoverlay"},
		{folder: "pkg/controllers/nodepool/counter"},
		{folder: "pkg/controllers/nodepool/hash"},
		{folder: "pkg/controllers/nodepool/readiness"},
		{folder: "pkg/controllers/nodepool/registrationhealth"},
		{folder: "pkg/controllers/nodepool/validation"},
		{folder: "pkg/controllers/state"},
		{folder: "pkg/controllers/static/deprovisioning"},
		{folder: "pkg/controllers/static/provisioning"},
	}},
}
