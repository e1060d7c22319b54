package fake

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// continueToken says where the next page of a list starts. It travels in the encoding of
// the API server, which clients must not look into.
type continueToken struct {
	rv    int64                // of the list; -1 for whatever is current
	after types.NamespacedName // the last key of the page before
}

type wireToken struct {
	Version string `json:"v"`
	RV      int64  `json:"rv"`
	Start   string `json:"start"`
}

const tokenVersion = "meta.k8s.io/v1"

func encodeContinue(c continueToken) string {
	start := c.after.Name + "\x00"
	if c.after.Namespace != "" {
		start = c.after.Namespace + "/" + start
	}
	b, err := json.Marshal(wireToken{Version: tokenVersion, RV: c.rv, Start: start})
	if err != nil {
		return "" // two strings and a number always encode
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func decodeContinue(text string) (c continueToken, err error) {
	defer func() {
		if err != nil {
			err = apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: %v", err))
		}
	}()
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return c, fmt.Errorf("continue key is not valid: %w", err)
	}
	var w wireToken
	if err := json.Unmarshal(b, &w); err != nil {
		return c, fmt.Errorf("continue key is not valid: %w", err)
	}
	switch {
	case w.Version != tokenVersion:
		return c, fmt.Errorf("continue key is not valid: server does not recognize this encoded version %v", w.Version)
	case w.RV == 0 || w.RV < -1:
		return c, fmt.Errorf("continue key is not valid: incorrect encoded start resourceVersion (version %s)", tokenVersion)
	case w.Start == "":
		return c, fmt.Errorf("continue key is not valid: encoded start key empty (version %s)", tokenVersion)
	}
	// As the API server does, so that no token leads out of the resource.
	if at := "/" + strings.TrimPrefix(w.Start, "/"); path.Clean(at) != at {
		return c, fmt.Errorf("continue key is not valid: %s", w.Start)
	}
	c.rv = w.RV
	start := strings.TrimSuffix(w.Start, "\x00")
	var namespaced bool
	if c.after.Namespace, c.after.Name, namespaced = strings.Cut(start, "/"); !namespaced {
		c.after = types.NamespacedName{Name: start}
	}
	return c, nil
}

// errContinueStale is the 410 of a page whose list is no longer kept. The token in it
// goes on inconsistently, at whatever resourceVersion is current.
func errContinueStale(after types.NamespacedName) error {
	err := apierrors.NewResourceExpired(msgContinueStale)
	err.ErrStatus.ListMeta.Continue = encodeContinue(continueToken{rv: -1, after: after})
	return err
}
