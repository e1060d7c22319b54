package sim

import (
	"bytes"
	"encoding/json"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/fake"
)

// ask sends a request to a fake server and decodes the answer, unless into is nil. agent is the name of the client. A
// refusal is an error of package apierrors. Patches are merge patches.
func ask(server *fake.Server, agent, method, path string, body []byte, into any) error {
	r, err := http.NewRequest(method, fake.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("User-Agent", agent)
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	answer, err := server.Client().Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode >= http.StatusMultipleChoices {
		return apierrors.NewGenericServerResponse(answer.StatusCode, method, schema.GroupResource{}, "", messageOf(answer), 0, true)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(into)
}
