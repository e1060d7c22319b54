package answer

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/kind"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// thing is an object of a Go type; bags are the same without one.
type thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]string `json:"data,omitempty"`
	Spec              struct {
		Size  *int32            `json:"size,omitempty"`
		Parts []string          `json:"parts,omitempty"`
		At    *metav1.Time      `json:"at,omitempty"`
		Free  map[string]string `json:"free,omitempty"`
	} `json:"spec"`
}

// DeepCopyObject implements runtime.Object.
func (t *thing) DeepCopyObject() runtime.Object {
	out := &thing{}
	b, err := json.Marshal(t)
	if err == nil {
		err = json.Unmarshal(b, out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

var (
	group  = schema.GroupVersion{Group: "example.com", Version: "v1"}
	things = kind.Of[*thing](group, "things")
	bags   = kind.Of[*unstructured.Unstructured](group, "bags").Named("Bag")
)

// decoder reads answers as the client of a webhook does.
func decoder(t testing.TB) runtime.Decoder {
	scheme := runtime.NewScheme()
	if err := admissionv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	codecs := serializer.NewCodecFactory(scheme)
	return codecs.LegacyCodec(admissionv1.SchemeGroupVersion)
}

// served returns a server whose writes a webhook answers with text.
func served(t testing.TB, decode runtime.Decoder, text []byte) *fake.Server {
	s := fake.New(fake.Options{Mutate: func(_ context.Context, a *fake.Admission) error {
		review := &admissionv1.AdmissionReview{}
		if _, _, err := decode.Decode(text, nil, review); err != nil {
			return err
		}
		if review.Response == nil {
			return nil
		}
		_, err := Take("hook", a, Answer{review.Response.Allowed, review.Response.Result, review.Response.Patch})
		return err
	}})
	if err := fake.Register(s, things, fake.Rules{}); err != nil {
		t.Fatal(err)
	}
	if err := fake.Register(s, bags, fake.Rules{}); err != nil {
		t.Fatal(err)
	}
	return s
}

func send(t testing.TB, s *fake.Server, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, fake.URL+"/apis/example.com/v1"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func review(response string) []byte {
	return []byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u",` + response + `}}`)
}

func patch(text string) []byte {
	return review(`"allowed":true,"patchType":"JSONPatch","patch":"` + base64.StdEncoding.EncodeToString([]byte(text)) + `"`)
}

var paths = map[string]string{"Thing": "/namespaces/n/things", "Bag": "/namespaces/n/bags"}

func TestTake(t *testing.T) {
	for _, c := range []struct {
		text []byte
		code int
		has  string
	}{
		{review(`"allowed":true`), 201, `"name":"a"`},
		{review(`"allowed":false`), 400, `admission webhook \"hook\" denied the request without explanation`},
		{review(`"allowed":false,"status":{"code":403,"message":"no"}`), 403, `denied the request: no`},
		{review(`"allowed":false,"status":{"code":100000}`), 500, `denied the request`},
		{patch(`[{"op":"add","path":"/data","value":{"k":"v"}}]`), 201, `"data":{"k":"v"}`},
		{patch(`[{"op":"add","path":"/metadata/labels","value":{"k":"v"}}]`), 201, `"labels":{"k":"v"}`},
		{patch(`[{"op":"remove","path":"/none"}]`), 500, `Unable to remove nonexistent key`},
		{patch(`[{"op":"add","path":"/metadata","value":7}]`), 500, `cannot unmarshal`},
		{patch(`[{"op":"copy","from":"/data/k","path":"/data/a"},{"op":"copy","from":"/data/k","path":"/data/b"},{"op":"copy","from":"/data/k","path":"/data/c"}]`), 500, "exceeding the limit"},
	} {
		s := served(t, decoder(t), c.text)
		data := "v"
		if c.has == "exceeding the limit" {
			data = strings.Repeat("x", 2<<20)
		}
		for kind, path := range paths {
			if kind == "Bag" && len(data) > 1 {
				continue // it takes seconds
			}
			if code, body := send(t, s, "POST", path, `{"apiVersion":"example.com/v1","kind":"`+kind+`","metadata":{"name":"a"},"data":{"k":"`+data+`"}}`); kind == "Thing" && (code != c.code || !strings.Contains(body, c.has)) || code != 201 && code < 400 || code > 599 {
				t.Errorf("%.200s: %d %.300s, want %d %s", c.text, code, body, c.code, c.has)
			}
		}
	}
}

// FuzzAnswer: whatever a webhook answers, a write gets an object or a Status, what is stored can be
// read, and refused writes leave nothing.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{"", "null", "[]", "{", `{"apiVersion":"v1","kind":"Pod"}`, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`} {
		f.Add([]byte(text), false)
	}
	for _, text := range []string{
		`"allowed":false,"status":{"code":-1,"message":"no","details":{"causes":[{}],"retryAfterSeconds":-1}}`, `"allowed":false,"status":{"code":200,"status":"Success"}`,
		`"allowed":false,"status":{"code":100000}`, `"allowed":true,"patch":"e30="`,
	} {
		f.Add(review(text), false)
	}
	for _, text := range []string{
		`[{"op":"add","path":"/data","value":{"a":"b"}}]`, `[{"op":"replace","path":"/metadata/name","value":"other"}]`, `[{"op":"remove","path":"/metadata"}]`,
		`[{"op":"replace","path":"/metadata/namespace","value":"m"}]`, `[{"op":"replace","path":"","value":7}]`, `{}`, `[{"op":"add","path":"/spec","value":{"size":7}}]`,
		`[{"op":"add","path":"/metadata/uid","value":"x"},{"op":"add","path":"/metadata/deletionTimestamp","value":"2020-01-01T00:00:00Z"}]`, `[{"op":"move","from":"/metadata","path":"/spec"}]`,
	} {
		f.Add([]byte(text), true)
	}
	decode := decoder(f)
	f.Fuzz(func(t *testing.T, text []byte, bare bool) {
		if bare { // text is the patch itself
			text = patch(string(text))
		}
		s := served(t, decode, text)
		for kind, path := range paths {
			code, body := send(t, s, "POST", path, `{"apiVersion":"example.com/v1","kind":"`+kind+`","metadata":{"name":"a","labels":{"l":"m"}},"data":{"k":"v"},"spec":{"size":3,"parts":["p"]}}`)
			var got struct {
				Kind, Message string
				Metadata      struct{ Name string }
			}
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatalf("%d %s: %v", code, body, err)
			}
			if strings.Contains(got.Message, "panic") {
				t.Fatalf("%s: %s", path, body)
			}
			code2, list := send(t, s, "GET", path, "")
			if code2 != 200 || !json.Valid([]byte(list)) {
				t.Fatalf("list: %d %s", code2, list)
			}
			switch {
			case code == 201:
				if code, again := send(t, s, "GET", path+"/"+got.Metadata.Name, ""); code != 200 || again != body {
					t.Fatalf("stored as %s, read as %d %s", body, code, again)
				}
			case code < 400 || code > 999 || got.Kind != "Status":
				t.Fatalf("%d %s", code, body)
			case !strings.Contains(list, `"items":[]`):
				t.Fatalf("refused with %s, but there is %s", body, list)
			}
		}
	})
}
