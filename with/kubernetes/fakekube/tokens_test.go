package fakekube_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/kubernetes/fakekube"
)

const tokenPath = "/api/v1/namespaces/default/serviceaccounts/robot/token"

// token asks for a token of the service account robot.
func token(t *testing.T, s *fake.Server, spec string) string {
	t.Helper()
	body := send(t, s, step{"POST", tokenPath, `{"spec":{` + spec + `}}`, 201, `"expirationTimestamp"`})
	var r authenticationv1.TokenRequest
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatal(err)
	}
	return r.Status.Token
}

func TestToken(t *testing.T) {
	s := newServer(t)
	create(t, s, &corev1.ServiceAccount{ObjectMeta: named("robot")})
	send(t, s,
		step{"POST", tokenPath, `{"metadata":{"name":"other"},"spec":{}}`, 422, `TokenRequest.authentication.k8s.io \"robot\" is invalid: metadata.name: Invalid value: \"other\": must match the service account name if specified`},
		step{"POST", tokenPath, `{"spec":{"expirationSeconds":5}}`, 422, `TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes`},
		step{"POST", tokenPath, `{"spec":{"expirationSeconds":99999999999}}`, 422, `Invalid value: 99999999999: may not specify a duration larger than 2^32 seconds`},
		step{"POST", tokenPath, `{"spec":{"boundObjectRef":{"kind":"ConfigMap","apiVersion":"v1","name":"none"}}}`, 400, "cannot bind token to object of type /v1, Kind=ConfigMap"},
		step{"POST", tokenPath, `{"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"none"}}}`, 404, `pods \"none\" not found`},
		step{"POST", tokenPath, `{"spec":{}}`, 201, `"audiences":["https://kubernetes.default.svc"]`})
	text := token(t, s, `"audiences":["x","y"],"expirationSeconds":600`)
	got, err := fakekube.ReadToken(s, text)
	if err != nil || got.Account != (types.NamespacedName{Namespace: "default", Name: "robot"}) || !slices.Equal(got.Audiences, []string{"x", "y"}) || got.ID == "" || got.UID == "" {
		t.Errorf("%+v %v", got, err)
	}
	parts := strings.Split(text, ".")
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || !strings.Contains(string(claims), `"sub":"system:serviceaccount:default:robot"`) {
		t.Errorf("claims %s %v", claims, err)
	}
	for _, bad := range []string{"", "x", "a.b.c", "..", parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"other"}`)) + "." + parts[2]} {
		if got, err := fakekube.ReadToken(s, bad); !errors.Is(err, fakekube.ErrNoToken) {
			t.Errorf("%q: %v %v", bad, got, err)
		}
	}
	forged := base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(claims), `"aud":["x"`, `"aud":["z"`, 1)))
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`))
	for _, bad := range []string{parts[0] + "." + forged + "." + parts[2], text + "A", none + "." + parts[1] + ".", none + "." + parts[1] + "." + parts[2]} {
		if got, err := fakekube.ReadToken(s, bad); err == nil || !strings.Contains(err.Error(), "cryptographic") {
			t.Errorf("%q: %v %v", bad, got, err)
		}
	}
	remove[*corev1.ServiceAccount](t, s, "robot")
	wantTokenError(t, s, text, `serviceaccounts "robot" not found`)
	create(t, s, &corev1.ServiceAccount{ObjectMeta: named("robot")})
	wantTokenError(t, s, text, "does not match claim")
}

func remove[T metav1.Object](t *testing.T, s *fake.Server, name string) {
	t.Helper()
	if _, err := fake.Delete[T](s, types.NamespacedName{Namespace: "default", Name: name}); err != nil {
		t.Fatal(err)
	}
}

func wantTokenError(t *testing.T, s *fake.Server, text, want string) {
	t.Helper()
	if got, err := fakekube.ReadToken(s, text); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%+v, %v, want %s", got, err, want)
	}
}

// TestTokenEnds: a token ends with its time, and with the object that it is bound to.
func TestTokenEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		create(t, s, &corev1.ServiceAccount{ObjectMeta: named("robot")})
		create(t, s, &corev1.Secret{ObjectMeta: named("a")})
		create(t, s, &corev1.Pod{ObjectMeta: named("a"), Spec: corev1.PodSpec{ServiceAccountName: "robot"}})
		create(t, s, &corev1.Pod{ObjectMeta: named("b")})
		send(t, s,
			step{"POST", tokenPath, `{"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"b"}}}`, 400, `cannot bind token for serviceaccount \"robot\" to pod running with different serviceaccount name.`},
			step{"POST", tokenPath, `{"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"a","uid":"x"}}}`, 409, "does not match the UID in record"})
		free := token(t, s, `"expirationSeconds":600`)
		pod := token(t, s, `"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"a"}`)
		secret := token(t, s, `"boundObjectRef":{"kind":"Secret","apiVersion":"v1","name":"a"}`)
		time.Sleep(10 * time.Minute)
		for _, text := range []string{free, pod, secret} {
			if got, err := fakekube.ReadToken(s, text); err != nil {
				t.Errorf("%+v %v", got, err)
			}
		}
		time.Sleep(2 * time.Minute)
		wantTokenError(t, s, free, "service account token has expired")
		remove[*corev1.Pod](t, s, "a")
		remove[*corev1.Secret](t, s, "a")
		wantTokenError(t, s, pod, "service account token has been invalidated")
		wantTokenError(t, s, secret, "service account token has been invalidated")
	})
}

// TestTokenOfAccountThatIsBeingDeleted: an account that waits for its finalizers is gone after a
// while.
func TestTokenOfAccountThatIsBeingDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		meta := named("robot")
		meta.Finalizers = []string{"example.com/wait"}
		create(t, s, &corev1.ServiceAccount{ObjectMeta: meta})
		text := token(t, s, "")
		remove[*corev1.ServiceAccount](t, s, "robot")
		if _, err := fakekube.ReadToken(s, text); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute)
		wantTokenError(t, s, text, "service account default/robot has been deleted")
	})
}
