package converter_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/kinform/kinform/e2e/converter"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestConverter(t *testing.T) {
	hook := converter.New(func(path, version string, obj map[string]any) { obj["by"] = path + " to " + version })
	defer hook.Close()
	var conversion struct {
		Webhook struct {
			ClientConfig struct {
				URL      string
				CABundle []byte
			}
		}
	}
	data, err := json.Marshal(hook.Conversion("/first"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &conversion); err != nil {
		t.Fatal(err)
	}
	config := conversion.Webhook.ClientConfig
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(config.CABundle)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()

	for in, want := range map[string]string{
		`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"g/v2","objects":[{"apiVersion":"g/v1","a":1}]}}`: `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"u",` +
			`"convertedObjects":[{"a":1,"apiVersion":"g/v2","by":"/first to v2"}],"result":{"status":"Success"}}}` + "\n",
		`{}`: "no ConversionReview\n",
	} {
		resp, err := client.Post(config.URL, "application/json", bytes.NewReader([]byte(in)))
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		_, err = got.ReadFrom(resp.Body)
		_ = resp.Body.Close()
		if diff := cmp.Diff(want, got.String()); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", in, err, diff)
		}
	}
}
