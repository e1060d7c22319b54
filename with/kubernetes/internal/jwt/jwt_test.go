package jwt

import (
	"encoding/base64"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type claims struct {
	Subject string `json:"sub"`
	Ends    int64  `json:"exp"`
}

func sign(t testing.TB, c claims) string {
	t.Helper()
	text, err := Sign(c)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestSign(t *testing.T) {
	text := sign(t, claims{"a", 1})
	var got claims
	if err := Read(text, &got); err != nil || Verify(text) != nil || got != (claims{"a", 1}) {
		t.Errorf("%+v %v", got, err)
	}
	head, err := base64.RawURLEncoding.DecodeString(text[:strings.IndexByte(text, '.')])
	if err != nil || !strings.HasPrefix(string(head), `{"alg":"ES256","kid":"`) {
		t.Errorf("header %s %v", head, err)
	}
	if err := Read("a.b", &got); err != ErrNoToken {
		t.Error(err)
	}
}

// FuzzToken: no text but one that was signed is good, and it is read as it was signed.
func FuzzToken(f *testing.F) {
	good := sign(f, claims{"a", 1})
	parts := strings.Split(good, ".")
	for _, text := range []string{"", ".", "..", "a.b.c", good, good + "A", parts[0] + "." + parts[1] + ".", "e30." + parts[1] + "." + parts[2], parts[0] + ".bnVsbA." + parts[2], parts[0] + "." + parts[2]} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got claims
		err := Read(text, &got)
		if Verify(text) == nil && (err != nil || got != (claims{"a", 1})) {
			t.Errorf("%q is good: %+v, %v", text, got, err)
		}
	})
}
