package fakekube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/internal/jwt"
)

// TokenIssuer issues the tokens of service accounts, and is the audience of those that state none.
const TokenIssuer = "https://kubernetes.default.svc"

// ErrNoToken says that a text is no token of a service account, or that another issuer made it.
var ErrNoToken = jwt.ErrNoToken

// Token is the content of a token of a service account.
type Token struct {
	Account types.NamespacedName
	UID     types.UID // of the account
	ID      string    // of the token
	// Audiences are those for which the token is good; there is at least one.
	Audiences []string
	Expires   time.Time // in whole seconds
	// Pod, Secret or Node is the object that the token is bound to, and ends with. The others are
	// nil; all are if it is bound to none. With Pod, Node is the node of the pod, if it has one.
	Pod, Secret, Node *TokenReference
}

// TokenReference names an object in a token. The UID is empty for the node of a pod that the server
// did not know.
type TokenReference struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid,omitempty"`
}

// claims are a token in JSON (RFC 7519).
type claims struct {
	Audiences  []string  `json:"aud"`
	Expires    int64     `json:"exp"`
	Issued     int64     `json:"iat"`
	Issuer     string    `json:"iss"`
	ID         string    `json:"jti"`
	Kubernetes ownClaims `json:"kubernetes.io"`
	NotBefore  int64     `json:"nbf"`
	Subject    string    `json:"sub"`
}

type ownClaims struct {
	Namespace string          `json:"namespace"`
	Node      *TokenReference `json:"node,omitempty"`
	Pod       *TokenReference `json:"pod,omitempty"`
	Secret    *TokenReference `json:"secret,omitempty"`
	Account   TokenReference  `json:"serviceaccount"`
}

var tokenRequest = authenticationv1.SchemeGroupVersion.WithKind("TokenRequest")

// issuer makes the tokens of a server's accounts. Everybody can make them: the key is in package
// jwt.
type issuer struct{ server *fake.Server }

// issue answers a request for a token.
func (i issuer) issue(_ context.Context, sa *corev1.ServiceAccount, r *authenticationv1.TokenRequest, _ bool) (metav1.Object, error) {
	if r.Name != "" && r.Name != sa.Name {
		return nil, invalid(tokenRequest, sa.Name, "metadata.name", fmt.Sprintf("Invalid value: %q: must match the service account name if specified", r.Name))
	}
	seconds := int64(3600)
	if s := r.Spec.ExpirationSeconds; s != nil {
		seconds = *s
	}
	for limit, bad := range map[string]bool{"less than 10 minutes": seconds < 600, "larger than 2^32 seconds": seconds > 1<<32} {
		if bad {
			return nil, invalid(tokenRequest, r.Name, "spec.expirationSeconds", fmt.Sprintf("Invalid value: %d: may not specify a duration %s", seconds, limit))
		}
	}
	out := r.DeepCopy()
	out.Name, out.Namespace, out.UID, out.CreationTimestamp = sa.Name, sa.Namespace, sa.UID, metav1.Now()
	out.Spec.ExpirationSeconds = &seconds
	if len(out.Spec.Audiences) == 0 {
		out.Spec.Audiences = []string{TokenIssuer}
	}
	now := time.Now()
	out.Status.ExpirationTimestamp = metav1.NewTime(now.Add(time.Duration(seconds) * time.Second))
	c := claims{
		Audiences: out.Spec.Audiences, Expires: now.Unix() + seconds, Issued: now.Unix(), NotBefore: now.Unix(), Issuer: TokenIssuer, ID: string(uuid.NewUUID()),
		Kubernetes: ownClaims{Namespace: sa.Namespace, Account: TokenReference{sa.Name, sa.UID}},
		Subject:    "system:serviceaccount:" + sa.Namespace + ":" + sa.Name,
	}
	err := i.bind(&c.Kubernetes, r.Spec.BoundObjectRef)
	if err == nil {
		out.Status.Token, err = jwt.Sign(c)
	}
	return out, err
}

// bind adds the object to which a token is to be bound.
func (i issuer) bind(c *ownClaims, to *authenticationv1.BoundObjectReference) error {
	if to == nil {
		return nil
	}
	kind := schema.FromAPIVersionAndKind(to.APIVersion, to.Kind)
	key := types.NamespacedName{Namespace: c.Namespace, Name: to.Name}
	var found metav1.Object
	var err error
	var place **TokenReference
	switch {
	case kind.Group != "":
	case kind.Kind == "Pod":
		var p *corev1.Pod
		if p, err = fake.Get[*corev1.Pod](i.server, key); err == nil && cmp.Or(p.Spec.ServiceAccountName, "default") != c.Account.Name {
			err = apierrors.NewBadRequest(fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", c.Account.Name))
		}
		if err == nil && p.Spec.NodeName != "" {
			c.Node = &TokenReference{Name: p.Spec.NodeName}
			if n, err := fake.Get[*corev1.Node](i.server, types.NamespacedName{Name: p.Spec.NodeName}); err == nil {
				c.Node.UID = n.UID
			}
		}
		found, place = p, &c.Pod
	case kind.Kind == "Secret":
		found, err = fake.Get[*corev1.Secret](i.server, key)
		place = &c.Secret
	case kind.Kind == "Node":
		found, err = fake.Get[*corev1.Node](i.server, types.NamespacedName{Name: to.Name})
		place = &c.Node
	}
	switch {
	case place == nil:
		return apierrors.NewBadRequest("cannot bind token to object of type " + kind.String())
	case err != nil:
		return err
	case to.UID != "" && to.UID != found.GetUID():
		return apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, to.Name,
			fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", to.UID))
	}
	*place = &TokenReference{found.GetName(), found.GetUID()}
	return nil
}

// leeway is the time for which the API server still accepts a token that has ended.
const leeway = time.Minute

// ReadToken returns the content of a token that the subresource token of a service account of s has
// issued. As in the API server, a token is good for a minute after Expires, and for a minute after
// the deletionTimestamp of its account or bound object if that is still there. The caller checks
// the audiences. Errors: [ErrNoToken]; others, in the words of the API server, for a token that is
// forged or has expired, and for one whose account or bound object is gone.
func ReadToken(s *fake.Server, token string) (Token, error) {
	var c claims
	if jwt.Read(token, &c) != nil || c.Issuer != TokenIssuer {
		return Token{}, ErrNoToken
	}
	if err := jwt.Verify(token); err != nil {
		return Token{}, err
	}
	own := c.Kubernetes
	t := Token{
		Account: types.NamespacedName{Namespace: own.Namespace, Name: own.Account.Name}, UID: own.Account.UID, ID: c.ID, Audiences: c.Audiences,
		Expires: time.Unix(c.Expires, 0), Pod: own.Pod, Secret: own.Secret, Node: own.Node,
	}
	if time.Now().After(t.Expires.Add(leeway)) {
		return Token{}, errors.New("service account token has expired")
	}
	sa, err := fake.Get[*corev1.ServiceAccount](s, t.Account)
	switch {
	case err != nil:
		return Token{}, err
	case sa.UID != t.UID:
		return Token{}, fmt.Errorf("service account UID (%s) does not match claim (%s)", sa.UID, t.UID)
	case isGone(sa):
		return Token{}, fmt.Errorf("service account %s has been deleted", t.Account)
	}
	return t, t.checkBound(s)
}

// checkBound returns an error if the object to which t is bound is gone.
func (t Token) checkBound(s *fake.Server) error {
	var now metav1.Object
	var err error
	var what string
	var want *TokenReference
	switch {
	case t.Secret != nil:
		what, want = "secret", t.Secret
		now, err = fake.Get[*corev1.Secret](s, types.NamespacedName{Namespace: t.Account.Namespace, Name: want.Name})
	case t.Pod != nil:
		what, want = "pod", t.Pod
		now, err = fake.Get[*corev1.Pod](s, types.NamespacedName{Namespace: t.Account.Namespace, Name: want.Name})
	case t.Node != nil:
		what, want = "node", t.Node
		now, err = fake.Get[*corev1.Node](s, types.NamespacedName{Name: want.Name})
	default:
		return nil
	}
	switch {
	case err != nil:
		return errors.New("service account token has been invalidated")
	case now.GetUID() != want.UID:
		return fmt.Errorf("%s UID (%s) does not match service account %s ref claim (%s)", what, now.GetUID(), what, want.UID)
	}
	if isGone(now) {
		return errors.New("service account token has been invalidated")
	}
	return nil
}

// isGone reports whether the deletion of obj began so long ago that its tokens are no longer good.
func isGone(obj metav1.Object) bool {
	d := obj.GetDeletionTimestamp()
	return d != nil && d.Add(leeway).Before(time.Now())
}
