package apiserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/with/kubernetes/authentication"
	"github.com/kinform/kinform/with/kubernetes/authorization"
	"github.com/kinform/kinform/with/kubernetes/fakekube"
	"github.com/kinform/kinform/with/kubernetes/openapi"
)

// codecs encode reviews, and the refusals of filters.
var codecs = newCodecs()

func newCodecs() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	scheme.AddUnversionedTypes(metav1.Unversioned, &metav1.Status{})
	for _, add := range []func(*runtime.Scheme) error{authorizationv1.AddToScheme, authenticationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // types of k8s.io/api that are in conflict with one another
		}
	}
	return serializer.NewCodecFactory(scheme)
}

// registerReviews lets discovery show the kinds that a [reviewer] answers.
func registerReviews(store *fake.Server) error {
	return errors.Join(
		registerReview(store, authorization.SelfSubjectAccessReviews),
		registerReview(store, authorization.SubjectAccessReviews),
		registerReview(store, authorization.LocalSubjectAccessReviews),
		registerReview(store, authorization.SelfSubjectRulesReviews),
		registerReview(store, authentication.SelfSubjectReviews),
		registerReview(store, authentication.TokenReviews),
	)
}

func registerReview[T metav1.Object](store *fake.Server, k *kind.Kind[T]) error {
	rules := openapi.Rules(k)
	rules.Verbs = []string{"create"}
	return fake.Register(store, k, rules)
}

// reviewer answers the creation of reviews: questions about the identity or the permissions of a
// user. Reviews are not stored.
type reviewer struct {
	users *users
	rules authorizer.UnconditionalAuthorizer
	next  http.Handler
}

const maxBody = 3 << 20 // the API server's own limit

func (v *reviewer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info, ok := request.RequestInfoFrom(r.Context())
	kind := ""
	if ok && info.IsResourceRequest {
		kind = reviewKind(info)
	}
	if kind == "" {
		v.next.ServeHTTP(w, r)
		return
	}
	gv := authorizationv1.SchemeGroupVersion
	gv.Group = info.APIGroup
	answer, err := v.answer(w, r, info, kind)
	if err != nil {
		responsewriters.ErrorNegotiated(err, codecs, gv, w, r)
		return
	}
	responsewriters.WriteObjectNegotiated(codecs, negotiation.DefaultEndpointRestrictions, gv, w, r, http.StatusCreated, answer, false)
}

// reviewKinds are the kinds of reviews.
var reviewKinds = map[schema.GroupVersionResource]string{
	authorizationv1.SchemeGroupVersion.WithResource("selfsubjectaccessreviews"):  "SelfSubjectAccessReview",
	authorizationv1.SchemeGroupVersion.WithResource("subjectaccessreviews"):      "SubjectAccessReview",
	authorizationv1.SchemeGroupVersion.WithResource("localsubjectaccessreviews"): "LocalSubjectAccessReview",
	authorizationv1.SchemeGroupVersion.WithResource("selfsubjectrulesreviews"):   "SelfSubjectRulesReview",
	authenticationv1.SchemeGroupVersion.WithResource("selfsubjectreviews"):       "SelfSubjectReview",
	authenticationv1.SchemeGroupVersion.WithResource("tokenreviews"):             "TokenReview",
}

// reviewKind returns the kind of review that a path is for, empty if it is for none.
func reviewKind(info *request.RequestInfo) string {
	kind := reviewKinds[schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}]
	if info.Subresource != "" || info.Namespace != "" && kind != "LocalSubjectAccessReview" {
		return ""
	}
	return kind
}

// answer returns the review of a kind with its status.
func (v *reviewer) answer(w http.ResponseWriter, r *http.Request, info *request.RequestInfo, kind string) (runtime.Object, error) {
	want := schema.GroupVersionKind{Group: info.APIGroup, Version: info.APIVersion, Kind: kind}
	switch {
	case info.Name != "" || info.Namespace == "" && want.Kind == "LocalSubjectAccessReview":
		return nil, apierrors.NewGenericServerResponse(http.StatusNotFound, info.Verb, schema.GroupResource{}, "", "", 0, true)
	case info.Verb != "create":
		return nil, apierrors.NewMethodNotSupported(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, info.Verb)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, apierrors.NewRequestEntityTooLargeError(err.Error())
	}
	if len(body) == 0 {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): the body is empty", want.Kind))
	}
	obj, is, err := codecs.UniversalDeserializer().Decode(body, &want, nil)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if *is != want {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the kind in the data (%s) does not match the expected kind (%s)", is.Kind, want.Kind))
	}
	who, _ := request.UserFrom(r.Context())
	switch x := obj.(type) {
	case *authorizationv1.SelfSubjectAccessReview:
		x.Status, err = v.review(r, who, x.Spec.ResourceAttributes, x.Spec.NonResourceAttributes)
	case *authorizationv1.SubjectAccessReview:
		x.Status, err = v.review(r, named(x.Spec), x.Spec.ResourceAttributes, x.Spec.NonResourceAttributes)
	case *authorizationv1.LocalSubjectAccessReview:
		if x.Spec.ResourceAttributes == nil || x.Spec.ResourceAttributes.Namespace != info.Namespace {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("spec.resourceAttributes.namespace must be %q, the namespace of the request", info.Namespace))
		}
		x.Status, err = v.review(r, named(x.Spec), x.Spec.ResourceAttributes, x.Spec.NonResourceAttributes)
	case *authorizationv1.SelfSubjectRulesReview:
		x.Status = v.listRules(who, x.Spec.Namespace)
	case *authenticationv1.SelfSubjectReview:
		x.Status.UserInfo = userInfo(who)
	case *authenticationv1.TokenReview:
		x.Status, err = v.reviewToken(r, x.Spec)
	default:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%T is no review", obj))
	}
	return obj, err
}

// named is the user that an access review asks about.
func named(spec authorizationv1.SubjectAccessReviewSpec) user.Info {
	extra := map[string][]string{}
	for k, x := range spec.Extra {
		extra[k] = x
	}
	return &user.DefaultInfo{Name: spec.User, Groups: spec.Groups, UID: spec.UID, Extra: extra}
}

// invalidSpec is the 422 for one field.
func invalidSpec(path *field.Path, value any, detail string) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: authorizationv1.GroupName}, "", field.ErrorList{field.Invalid(path, value, detail)})
}

// review asks the rules whether a user may send a request.
func (v *reviewer) review(r *http.Request, who user.Info, res *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes) (authorizationv1.SubjectAccessReviewStatus, error) {
	var a authorizer.AttributesRecord
	switch {
	case (res == nil) == (path == nil):
		return authorizationv1.SubjectAccessReviewStatus{}, invalidSpec(field.NewPath("spec"), nil, "exactly one of nonResourceAttributes or resourceAttributes must be specified")
	case who.GetName() == "" && len(who.GetGroups()) == 0:
		return authorizationv1.SubjectAccessReviewStatus{}, invalidSpec(field.NewPath("spec", "user"), "", "at least one of user or group must be specified")
	case res != nil:
		a = authorizer.AttributesRecord{
			Verb: res.Verb, Namespace: res.Namespace, APIGroup: res.Group, APIVersion: res.Version, Resource: res.Resource,
			Subresource: res.Subresource, Name: res.Name, ResourceRequest: true,
		}
	default:
		a = authorizer.AttributesRecord{Verb: path.Verb, Path: path.Path}
	}
	a.User = who
	decision, reason, err := v.rules.Authorize(r.Context(), a)
	status := authorizationv1.SubjectAccessReviewStatus{Allowed: decision == authorizer.DecisionAllow, Denied: decision == authorizer.DecisionDeny, Reason: reason}
	if err != nil {
		status.EvaluationError = err.Error()
	}
	return status, nil
}

// listRules returns the rules for a user in a namespace.
func (v *reviewer) listRules(who user.Info, namespace string) (out authorizationv1.SubjectRulesReviewStatus) {
	roles, ok := v.rules.(rbac)
	if !ok {
		out.ResourceRules = []authorizationv1.ResourceRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}}
		out.NonResourceRules = []authorizationv1.NonResourceRule{{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}}}
		return out
	}
	for rules := range roles.rulesOf(who, namespace) {
		for _, x := range rules {
			if len(x.Resources) > 0 {
				out.ResourceRules = append(out.ResourceRules, authorizationv1.ResourceRule{Verbs: x.Verbs, APIGroups: x.APIGroups, Resources: x.Resources, ResourceNames: x.ResourceNames})
			}
			if len(x.NonResourceURLs) > 0 {
				out.NonResourceRules = append(out.NonResourceRules, authorizationv1.NonResourceRule{Verbs: x.Verbs, NonResourceURLs: x.NonResourceURLs})
			}
		}
	}
	return out
}

// reviewToken says whose token it is.
func (v *reviewer) reviewToken(r *http.Request, spec authenticationv1.TokenReviewSpec) (authenticationv1.TokenReviewStatus, error) {
	if spec.Token == "" {
		return authenticationv1.TokenReviewStatus{}, apierrors.NewBadRequest("token is required for TokenReview in authentication")
	}
	wanted := authenticator.Audiences(spec.Audiences)
	if len(wanted) == 0 {
		wanted = serverAudiences
	}
	resp, ok, err := v.users.token.AuthenticateToken(authenticator.WithAudiences(r.Context(), wanted), spec.Token)
	if err != nil {
		return authenticationv1.TokenReviewStatus{Error: err.Error()}, nil
	}
	var good authenticator.Audiences
	if ok {
		if good = resp.Audiences; len(good) == 0 { // tokens of a file are for the API server
			good = wanted.Intersect(serverAudiences)
		}
	}
	if len(good) == 0 {
		return authenticationv1.TokenReviewStatus{Error: fakekube.ErrNoToken.Error()}, nil
	}
	return authenticationv1.TokenReviewStatus{Authenticated: true, User: userInfo(resp.User), Audiences: good}, nil
}

func userInfo(who user.Info) authenticationv1.UserInfo {
	out := authenticationv1.UserInfo{Username: who.GetName(), UID: who.GetUID(), Groups: who.GetGroups()}
	for k, x := range who.GetExtra() {
		if out.Extra == nil {
			out.Extra = map[string]authenticationv1.ExtraValue{}
		}
		out.Extra[k] = x
	}
	return out
}
