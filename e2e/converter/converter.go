// Package converter is a conversion webhook for tests. A test changes what it answers, with or
// without a change of the CustomResourceDefinition that names it.
package converter

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
)

// Func changes an object, as decoded from JSON, for a version such as "v2". path is the webhook's,
// as in the definition. Func may be called from several goroutines at a time. It must not change
// the metadata apart from labels and annotations: the API server refuses such an answer.
type Func func(path, version string, obj map[string]any)

// Converter is a running webhook at 127.0.0.1. It must be closed.
type Converter struct {
	server *httptest.Server
}

// New starts a webhook that converts with f.
func New(f Func) *Converter {
	serve := func(w http.ResponseWriter, req *http.Request) {
		var in review
		if err := json.NewDecoder(req.Body).Decode(&in); err != nil || in.Request == nil {
			http.Error(w, "no ConversionReview", http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(in.answer(req.URL.Path, f))
	}
	return &Converter{server: httptest.NewTLSServer(http.HandlerFunc(serve))}
}

// Close ends the webhook, and returns when its requests have ended.
func (c *Converter) Close() { c.server.Close() }

// Conversion returns spec.conversion of a definition that uses the webhook at path. The certificates
// of its caBundle are the webhook's and the others given, in PEM.
func (c *Converter) Conversion(path string, others ...[]byte) map[string]any {
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.server.Certificate().Raw})
	return map[string]any{"strategy": "Webhook", "webhook": map[string]any{
		"conversionReviewVersions": []any{"v1"},
		"clientConfig":             map[string]any{"url": c.server.URL + path, "caBundle": slices.Concat(append([][]byte{own}, others...)...)},
	}}
}

// review is a ConversionReview of apiextensions.k8s.io/v1.
type review struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Request    *request  `json:"request,omitempty"`
	Response   *response `json:"response,omitempty"`
}

type request struct {
	UID     string           `json:"uid"`
	Version string           `json:"desiredAPIVersion"`
	Objects []map[string]any `json:"objects"`
}

type response struct {
	UID     string           `json:"uid"`
	Objects []map[string]any `json:"convertedObjects"`
	Result  map[string]any   `json:"result"`
}

func (r review) answer(path string, f Func) review {
	_, version, _ := strings.Cut(r.Request.Version, "/")
	for _, obj := range r.Request.Objects {
		obj["apiVersion"] = r.Request.Version
		f(path, version, obj)
	}
	return review{APIVersion: r.APIVersion, Kind: r.Kind, Response: &response{
		UID: r.Request.UID, Objects: r.Request.Objects, Result: map[string]any{"status": "Success"},
	}}
}
