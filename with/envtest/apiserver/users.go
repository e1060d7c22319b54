package apiserver

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	tokenunion "k8s.io/apiserver/pkg/authentication/token/union"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/fakekube"
)

// users says who has sent a request.
type users struct {
	authenticator.Request
	token authenticator.Token
}

func authenticate(opts Options, store *fake.Server) (*users, error) {
	var all []authenticator.Request
	u := &users{}
	if opts.ClientCAFile != "" {
		roots, err := certificates(opts.ClientCAFile)
		if err != nil {
			return nil, fmt.Errorf("certificates of clients: %w", err)
		}
		verify := x509request.DefaultVerifyOptions()
		verify.Roots = roots
		all = append(all, x509request.New(verify, x509request.CommonNameUserConversion))
	}
	tokens := []authenticator.Token{accountTokens{store}}
	if opts.TokenFile != "" {
		fromFile, err := tokenfile.NewCSV(opts.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("tokens of clients: %w", err)
		}
		tokens = append(tokens, fromFile)
	}
	u.token = group.NewTokenGroupAdder(tokenunion.New(tokens...), []string{user.AllAuthenticated})
	all = append(all, bearertoken.New(u.token))
	u.Request = group.NewAuthenticatedGroupAdder(union.New(all...))
	if !opts.NoAnonymous {
		u.Request = union.NewFailOnError(u.Request, anonymous.NewAuthenticator(nil))
	}
	return u, nil
}

// accountTokens knows the tokens that fakekube issues for service accounts.
type accountTokens struct{ store *fake.Server }

// AuthenticateToken implements authenticator.Token, for the audiences of ctx or, if it has none,
// for the API server.
func (a accountTokens) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	t, err := fakekube.ReadToken(a.store, token)
	switch {
	case errors.Is(err, fakekube.ErrNoToken):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("[invalid bearer token, %w]", err)
	}
	wanted, ok := authenticator.AudiencesFrom(ctx)
	if !ok {
		wanted = serverAudiences
	}
	good := wanted.Intersect(t.Audiences)
	if len(good) == 0 {
		return nil, false, fmt.Errorf("[invalid bearer token, token audiences %q is invalid for the target audiences %q]", t.Audiences, wanted)
	}
	who := serviceaccount.ServiceAccountInfo{
		Namespace: t.Account.Namespace, Name: t.Account.Name, UID: string(t.UID), CredentialID: "JTI=" + t.ID,
	}
	if t.Pod != nil {
		who.PodName, who.PodUID = t.Pod.Name, string(t.Pod.UID)
	}
	if t.Node != nil {
		who.NodeName, who.NodeUID = t.Node.Name, string(t.Node.UID)
	}
	return &authenticator.Response{User: who.UserInfo(), Audiences: good}, true, nil
}

// serverAudiences are the audiences of the API server itself.
var serverAudiences = authenticator.Audiences{fakekube.TokenIssuer}

func certificates(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in PEM", file)
	}
	return pool, nil
}
