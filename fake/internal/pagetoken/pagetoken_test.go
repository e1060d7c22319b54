package pagetoken_test

import (
	"encoding/base64"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake/internal/pagetoken"
)

func TestRoundTrip(t *testing.T) {
	for _, want := range []pagetoken.Token{
		{RV: 7, After: types.NamespacedName{Namespace: "prod", Name: "web"}},
		{RV: -1, After: types.NamespacedName{Name: "node-1"}},
	} {
		if got, err := pagetoken.Decode(want.Encode()); got != want || err != nil {
			t.Errorf("%+v came back as %+v, %v", want, got, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"{":                              "illegal base64",
		"x":                              "invalid character",
		`{"v":"v0","rv":1,"start":"a"}`:  "does not recognize this encoded version v0",
		`{"v":"meta.k8s.io/v1","rv":0}`:  "incorrect encoded start resourceVersion",
		`{"v":"meta.k8s.io/v1","rv":-2}`: "incorrect encoded start resourceVersion",
		`{"v":"meta.k8s.io/v1","rv":1}`:  "encoded start key empty",
		`{"v":"meta.k8s.io/v1","rv":1,"start":"../secrets/a\u0000"}`: "not valid: ../secrets/a",
	} {
		if text != "{" {
			text = base64.RawURLEncoding.EncodeToString([]byte(text))
		}
		_, err := pagetoken.Decode(text)
		if !apierrors.IsBadRequest(err) || !strings.HasPrefix(err.Error(), "invalid continue token: continue key is not valid: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
