package apiserver

import (
	"context"
	"crypto/x509"
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

	"github.com/kinform/kinform/with/kubernetes/fakekube"
)

// users says who has sent a request.
type users struct {
	authenticator.Request
	token authenticator.Token
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
	tokens := []authenticator.Token{accountTokens{}}
	if opts.TokenFile != "" {
		fromFile, err := tokenfile.NewCSV(opts.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("tokens of clients: %w", err)
		}
		tokens = append(tokens, fromFile)
	}
	u.token = tokenunion.New(tokens...)
	all = append(all, bearertoken.New(u.token))
	u.Request = group.NewAuthenticatedGroupAdder(union.New(all...))
	if !opts.NoAnonymous {
		u.Request = union.NewFailOnError(u.Request, anonymous.NewAuthenticator(nil))
	}
	return u, nil
}

// accountTokens knows the tokens that fakekube issues for service accounts.
type accountTokens struct{}

func (accountTokens) AuthenticateToken(_ context.Context, token string) (*authenticator.Response, bool, error) {
	account, ok := fakekube.TokenUser(token)
	if !ok {
		return nil, false, nil
	}
	return &authenticator.Response{User: serviceaccount.UserInfo(account.Namespace, account.Name, "")}, true, nil
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
