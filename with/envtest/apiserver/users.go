package apiserver

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
)

// users says who has sent a request.
type users struct {
	authenticator.Request
	token authenticator.Token // nil if there are no tokens
}

func authenticate(opts Options) (*users, error) {
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
	if opts.TokenFile != "" {
		tokens, err := tokenfile.NewCSV(opts.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("tokens of clients: %w", err)
		}
		u.token = tokens
		all = append(all, bearertoken.New(tokens))
	} else {
		// A token that nobody knows is an error, even if there are none.
		all = append(all, bearertoken.New(noTokens{}))
	}
	u.Request = group.NewAuthenticatedGroupAdder(union.New(all...))
	if !opts.NoAnonymous {
		u.Request = union.NewFailOnError(u.Request, anonymous.NewAuthenticator(nil))
	}
	return u, nil
}

// noTokens knows no token.
type noTokens struct{}

func (noTokens) AuthenticateToken(context.Context, string) (*authenticator.Response, bool, error) {
	return nil, false, nil
}

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

// AuthenticateRequest implements authenticator.Request. Nothing but the user is kept of a request's
// credentials.
func (u *users) AuthenticateRequest(r *http.Request) (*authenticator.Response, bool, error) {
	return u.Request.AuthenticateRequest(r)
}
