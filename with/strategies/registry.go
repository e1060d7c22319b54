package strategies

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install" // its types and defaults
	_ "k8s.io/kubernetes/pkg/apis/apps/install"                  // its types and defaults
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"           // its types and defaults
	_ "k8s.io/kubernetes/pkg/apis/batch/install"                 // its types and defaults
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"          // its types and defaults
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"          // its types and defaults
	_ "k8s.io/kubernetes/pkg/apis/core/install"                  // its types and defaults
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"             // its types and defaults
	_ "k8s.io/kubernetes/pkg/apis/events/install"                // its types and defaults
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"           // its types and defaults
	_ "k8s.io/kubernetes/pkg/apis/networking/install"            // its types and defaults
	_ "k8s.io/kubernetes/pkg/apis/node/install"                  // its types and defaults
	_ "k8s.io/kubernetes/pkg/apis/policy/install"                // its types and defaults
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"                  // its types and defaults
	_ "k8s.io/kubernetes/pkg/apis/resource/install"              // its types and defaults
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"            // its types and defaults
	_ "k8s.io/kubernetes/pkg/apis/storage/install"               // its types and defaults
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/resolver"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/apps/controllerrevision"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/certificates/certificates"
	"k8s.io/kubernetes/pkg/registry/certificates/clustertrustbundle"
	"k8s.io/kubernetes/pkg/registry/coordination/lease"
	"k8s.io/kubernetes/pkg/registry/coordination/leasecandidate"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/endpoint"
	"k8s.io/kubernetes/pkg/registry/core/event"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/discovery/endpointslice"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/flowschema"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/prioritylevelconfiguration"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/ingressclass"
	"k8s.io/kubernetes/pkg/registry/networking/ipaddress"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/networking/servicecidr"
	"k8s.io/kubernetes/pkg/registry/node/runtimeclass"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	"k8s.io/kubernetes/pkg/registry/resource/deviceclass"
	"k8s.io/kubernetes/pkg/registry/resource/resourceslice"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/csinode"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattributesclass"
)

// all has the strategies of the API server.
var all = map[schema.GroupResource]strategies{
	{Group: "", Resource: "configmaps"}:                                                  {"": configmap.Strategy},
	{Group: "", Resource: "endpoints"}:                                                   {"": endpoint.Strategy},
	{Group: "", Resource: "events"}:                                                      {"": event.Strategy},
	{Group: "", Resource: "limitranges"}:                                                 {"": limitrange.Strategy},
	{Group: "", Resource: "namespaces"}:                                                  {"": namespace.Strategy, "status": namespace.StatusStrategy, "finalize": namespace.FinalizeStrategy},
	{Group: "", Resource: "nodes"}:                                                       {"": node.Strategy, "status": node.StatusStrategy},
	{Group: "", Resource: "persistentvolumeclaims"}:                                      {"": persistentvolumeclaim.Strategy, "status": persistentvolumeclaim.StatusStrategy},
	{Group: "", Resource: "persistentvolumes"}:                                           {"": persistentvolume.Strategy, "status": persistentvolume.StatusStrategy},
	{Group: "", Resource: "pods"}:                                                        {"": pod.Strategy, "status": pod.StatusStrategy, "ephemeralcontainers": pod.EphemeralContainersStrategy, "resize": pod.ResizeStrategy},
	{Group: "", Resource: "podtemplates"}:                                                {"": podtemplate.Strategy},
	{Group: "", Resource: "replicationcontrollers"}:                                      {"": replicationcontroller.Strategy, "status": replicationcontroller.StatusStrategy},
	{Group: "", Resource: "resourcequotas"}:                                              {"": resourcequota.Strategy, "status": resourcequota.StatusStrategy},
	{Group: "", Resource: "secrets"}:                                                     {"": secret.Strategy},
	{Group: "", Resource: "serviceaccounts"}:                                             {"": serviceaccount.Strategy},
	{Group: "", Resource: "services"}:                                                    {"": service.Strategy, "status": service.StatusStrategy},
	{Group: "apps", Resource: "controllerrevisions"}:                                     {"": controllerrevision.Strategy},
	{Group: "apps", Resource: "daemonsets"}:                                              {"": daemonset.Strategy, "status": daemonset.StatusStrategy},
	{Group: "apps", Resource: "deployments"}:                                             {"": deployment.Strategy, "status": deployment.StatusStrategy},
	{Group: "apps", Resource: "replicasets"}:                                             {"": replicaset.Strategy, "status": replicaset.StatusStrategy},
	{Group: "apps", Resource: "statefulsets"}:                                            {"": statefulset.Strategy, "status": statefulset.StatusStrategy},
	{Group: "autoscaling", Resource: "horizontalpodautoscalers"}:                         {"": horizontalpodautoscaler.Strategy, "status": horizontalpodautoscaler.StatusStrategy},
	{Group: "batch", Resource: "cronjobs"}:                                               {"": cronjob.Strategy, "status": cronjob.StatusStrategy},
	{Group: "batch", Resource: "jobs"}:                                                   {"": job.Strategy, "status": job.StatusStrategy},
	{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}:               {"": certificates.Strategy, "status": certificates.StatusStrategy, "approval": certificates.ApprovalStrategy},
	{Group: "certificates.k8s.io", Resource: "clustertrustbundles"}:                      {"": clustertrustbundle.Strategy},
	{Group: "coordination.k8s.io", Resource: "leases"}:                                   {"": lease.Strategy},
	{Group: "coordination.k8s.io", Resource: "leasecandidates"}:                          {"": leasecandidate.Strategy},
	{Group: "discovery.k8s.io", Resource: "endpointslices"}:                              {"": endpointslice.Strategy},
	{Group: "events.k8s.io", Resource: "events"}:                                         {"": event.Strategy},
	{Group: "flowcontrol.apiserver.k8s.io", Resource: "flowschemas"}:                     {"": flowschema.Strategy, "status": flowschema.StatusStrategy},
	{Group: "flowcontrol.apiserver.k8s.io", Resource: "prioritylevelconfigurations"}:     {"": prioritylevelconfiguration.Strategy, "status": prioritylevelconfiguration.StatusStrategy},
	{Group: "networking.k8s.io", Resource: "ingressclasses"}:                             {"": ingressclass.Strategy},
	{Group: "networking.k8s.io", Resource: "ingresses"}:                                  {"": ingress.Strategy, "status": ingress.StatusStrategy},
	{Group: "networking.k8s.io", Resource: "ipaddresses"}:                                {"": ipaddress.Strategy},
	{Group: "networking.k8s.io", Resource: "networkpolicies"}:                            {"": networkpolicy.Strategy},
	{Group: "networking.k8s.io", Resource: "servicecidrs"}:                               {"": servicecidr.Strategy, "status": servicecidr.StatusStrategy},
	{Group: "node.k8s.io", Resource: "runtimeclasses"}:                                   {"": runtimeclass.Strategy},
	{Group: "policy", Resource: "poddisruptionbudgets"}:                                  {"": poddisruptionbudget.Strategy, "status": poddisruptionbudget.StatusStrategy},
	{Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"}:                {"": clusterrolebinding.Strategy},
	{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}:                       {"": clusterrole.Strategy},
	{Group: "rbac.authorization.k8s.io", Resource: "rolebindings"}:                       {"": rolebinding.Strategy},
	{Group: "rbac.authorization.k8s.io", Resource: "roles"}:                              {"": role.Strategy},
	{Group: "resource.k8s.io", Resource: "deviceclasses"}:                                {"": deviceclass.Strategy},
	{Group: "resource.k8s.io", Resource: "resourceslices"}:                               {"": resourceslice.Strategy},
	{Group: "scheduling.k8s.io", Resource: "priorityclasses"}:                            {"": priorityclass.Strategy},
	{Group: "storage.k8s.io", Resource: "csidrivers"}:                                    {"": csidriver.Strategy},
	{Group: "storage.k8s.io", Resource: "csinodes"}:                                      {"": csinode.Strategy, "status": csinode.StatusStrategy},
	{Group: "storage.k8s.io", Resource: "csistoragecapacities"}:                          {"": csistoragecapacity.Strategy},
	{Group: "storage.k8s.io", Resource: "storageclasses"}:                                {"": storageclass.Strategy},
	{Group: "storage.k8s.io", Resource: "volumeattachments"}:                             {"": volumeattachment.Strategy, "status": volumeattachment.StatusStrategy},
	{Group: "storage.k8s.io", Resource: "volumeattributesclasses"}:                       {"": volumeattributesclass.Strategy},
	{Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"}:   {"": mutatingwebhookconfiguration.Strategy},
	{Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations"}: {"": validatingwebhookconfiguration.Strategy},

	{Group: "admissionregistration.k8s.io", Resource: "mutatingadmissionpolicies"}:         {"": mutatingadmissionpolicy.NewStrategy(nil, unresolved)},
	{Group: "admissionregistration.k8s.io", Resource: "mutatingadmissionpolicybindings"}:   {"": mutatingadmissionpolicybinding.NewStrategy(nil, nil, unresolved)},
	{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies"}:       {"": policies, "status": validatingadmissionpolicy.NewStatusStrategy(policies)},
	{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicybindings"}: {"": validatingadmissionpolicybinding.NewStrategy(nil, nil, unresolved)},
}

// The strategies of policies only need it to ask for the user's rights to parameters. Without an
// authorizer, everybody has them.
var (
	unresolved resolver.ResourceResolverFunc = func(schema.GroupVersionKind) (out schema.GroupVersionResource, err error) { return out, nil }
	policies                                 = validatingadmissionpolicy.NewStrategy(nil, unresolved)
)
