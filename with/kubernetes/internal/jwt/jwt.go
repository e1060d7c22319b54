// Package jwt signs JSON Web Tokens (RFC 7519) for tests, with a key that everybody knows.
package jwt

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"strings"
)

var (
	// ErrNoToken says that a text does not have the form of a token.
	ErrNoToken = errors.New("invalid bearer token")
	// ErrSignature says that this package has not signed a token. The words are the API server's.
	ErrSignature = errors.New("go-jose/go-jose: error in cryptographic primitive")
)

// header is the header of a JSON Web Signature (RFC 7515).
type header struct {
	Algorithm string `json:"alg"`
	Key       string `json:"kid"`
}

// key is the same in every process, so that a token outlives a server that is started again.
func key() (own *ecdsa.PrivateKey, h header, err error) {
	secret := sha256.Sum256([]byte("tokens of service accounts in tests"))
	if own, err = ecdsa.ParseRawPrivateKey(elliptic.P256(), secret[:]); err != nil {
		return nil, h, err
	}
	public, err := x509.MarshalPKIXPublicKey(own.Public())
	sum := sha256.Sum256(public)
	return own, header{"ES256", base64.RawURLEncoding.EncodeToString(sum[:])}, err
}

// Sign returns a token with the claims.
func Sign(claims any) (string, error) {
	own, h, err := key()
	if err != nil {
		return "", err
	}
	first, err := json.Marshal(h)
	if err != nil {
		return "", err
	}
	second, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(first) + "." + base64.RawURLEncoding.EncodeToString(second)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, own, sum[:])
	if err != nil {
		return "", err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

// Read reads the claims of a token, whoever signed it. Error: [ErrNoToken].
func Read(token string, claims any) error {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || decode(parts[0], &header{}) != nil || decode(parts[1], claims) != nil {
		return ErrNoToken
	}
	return nil
}

// Verify checks the signature of a token. Error: [ErrSignature].
func Verify(token string) error {
	own, want, err := key()
	if err != nil {
		return err
	}
	i := strings.LastIndexByte(token, '.')
	first, _, ok := strings.Cut(token, ".")
	var h header
	if !ok || decode(first, &h) != nil || h != want {
		return ErrSignature
	}
	signature, err := base64.RawURLEncoding.DecodeString(token[i+1:])
	sum := sha256.Sum256([]byte(token[:i]))
	if err != nil || len(signature) != 64 || !ecdsa.Verify(&own.PublicKey, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		return ErrSignature
	}
	return nil
}

func decode(part string, into any) error {
	text, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
