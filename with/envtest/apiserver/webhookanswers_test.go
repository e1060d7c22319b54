package apiserver_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kinform/kinform/with/envtest/apiserver"
)

// TestWebhookAnswers has a mutating webhook answer much that it should not. The request gets an
// object or a Status, and what is stored can be read.
func TestWebhookAnswers(t *testing.T) {
	review := func(response string) string {
		return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"UID",` + response + `}}`
	}
	patch := func(text string) string {
		return review(`"allowed":true,"patchType":"JSONPatch","patch":"` + base64.StdEncoding.EncodeToString([]byte(text)) + `"`)
	}
	for _, text := range []string{
		"", "null", "[]", "{", review(`"allowed":true`), review(`"allowed":false`), review(`"allowed":true,"warnings":["w","` + strings.Repeat("x", 5000) + `"]`),
		review(`"allowed":false,"status":{"code":-1,"message":"no","details":{"causes":[{}]}}`), review(`"allowed":false,"status":{"code":200,"status":"Success"}`),
		strings.Replace(review(`"allowed":true`), "UID", "other", 1), `{"apiVersion":"v1","kind":"Pod"}`, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`,
		patch(`[{"op":"add","path":"/data","value":{"a":"b"}}]`), patch(`[{"op":"replace","path":"/metadata/name","value":"other"}]`), patch(`[{"op":"remove","path":"/metadata"}]`),
		patch(`[{"op":"replace","path":"/metadata/namespace","value":"kube-system"}]`), patch(`[{"op":"replace","path":"","value":7}]`), patch(`{}`), patch(`[{"op":"add","path":"/data","value":7}]`),
		patch(`[{"op":"add","path":"/metadata/uid","value":"x"},{"op":"add","path":"/metadata/deletionTimestamp","value":"2020-01-01T00:00:00Z"}]`), patch(`[{"op":"copy","from":"","path":"/data"}]`),
		review(`"allowed":true,"patch":"e30="`), review(`"allowed":true,"patchType":"Other","patch":"e30="`),
	} {
		t.Run("", func(t *testing.T) { checkWebhookAnswer(t, []byte(text)) })
	}
}

func checkWebhookAnswer(t *testing.T, text []byte) {
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Request struct{ UID string } }
		_ = json.NewDecoder(r.Body).Decode(&asked)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(bytes.ReplaceAll(text, []byte("UID"), []byte(asked.Request.UID)))
	}))
	defer web.Close()
	h := hook{url: web.URL, ca: base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}))}
	s := start(t, apiserver.Options{})
	s.must(t, "POST", mutating, h.config("MutatingWebhookConfiguration", ""), nil)
	a := s.as(t, "", "POST", configMaps, `{"metadata":{"name":"a"}}`)
	if !json.Valid(a.body) || a.code != 201 && (a.code < 400 || a.status.Kind != "Status") {
		t.Errorf("%d %s", a.code, a.body)
	}
	if strings.Contains(a.status.Message, "panic:") {
		t.Errorf("the server panicked: %s", a.status.Message)
	}
	if list := s.as(t, "", "GET", "/api/v1/configmaps", nil); list.code != 200 || !json.Valid(list.body) {
		t.Errorf("%d %s", list.code, list.body)
	}
}
