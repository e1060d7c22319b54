// Package pagetoken reads and writes the continue tokens of lists, in the encoding of the API
// server. Clients must not look into them.
package pagetoken

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// Token says where the next page of a list starts.
type Token struct {
	// RV is the resourceVersion of the list. It is never zero; -1 stands for the current one.
	RV int64
	// After is the last key of the page before.
	After types.NamespacedName
}

type encoded struct {
	Version string `json:"v"`
	RV      int64  `json:"rv"`
	Start   string `json:"start"`
}

const version = "meta.k8s.io/v1"

// Encode returns the token as text.
func (t Token) Encode() string {
	start := t.After.Name + "\x00"
	if t.After.Namespace != "" {
		start = t.After.Namespace + "/" + start
	}
	b, err := json.Marshal(encoded{Version: version, RV: t.RV, Start: start})
	if err != nil {
		return "" // two strings and a number always encode
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// Decode reads the text of a token. Status error: BadRequest.
func Decode(text string) (Token, error) {
	t, err := decode(text)
	if err != nil {
		return t, apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: continue key is not valid: %v", err))
	}
	return t, nil
}

func decode(text string) (t Token, err error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return t, err
	}
	var e encoded
	if err := json.Unmarshal(b, &e); err != nil {
		return t, err
	}
	switch {
	case e.Version != version:
		return t, fmt.Errorf("server does not recognize this encoded version %v", e.Version)
	case e.RV == 0 || e.RV < -1:
		return t, fmt.Errorf("incorrect encoded start resourceVersion (version %s)", version)
	case e.Start == "":
		return t, fmt.Errorf("encoded start key empty (version %s)", version)
	}
	// The API server cleans the key as a path too, so that no token leads out of the resource.
	if at := "/" + strings.TrimPrefix(e.Start, "/"); path.Clean(at) != at {
		return t, errors.New(e.Start)
	}
	t.RV = e.RV
	start := strings.TrimSuffix(e.Start, "\x00")
	var namespaced bool
	if t.After.Namespace, t.After.Name, namespaced = strings.Cut(start, "/"); !namespaced {
		t.After = types.NamespacedName{Name: start}
	}
	return t, nil
}
