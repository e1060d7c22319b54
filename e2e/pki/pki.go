// Package pki makes certificates for tests that replace a running server's certificates.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// Authority signs certificates that are valid from an hour ago for two hours.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// New returns an authority with its own name.
func New() (*Authority, error) {
	a := &Authority{}
	var err error
	a.cert, a.key, err = certify(nil, x509.Certificate{
		Subject: pkix.Name{CommonName: "CA " + rand.Text()}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	if err != nil {
		return nil, fmt.Errorf("pki: %w", err)
	}
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
	return a, nil
}

// PEM returns the authority's own certificate, without its key. The result is shared.
func (a *Authority) PEM() []byte { return a.pem }

// Issue writes a certificate of c, for servers and clients, and its key to dir as NAME.crt and
// NAME.key.
func (a *Authority) Issue(dir, name string, c x509.Certificate) error {
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	cert, key, err := certify(a, c)
	if err != nil {
		return fmt.Errorf("pki: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("pki: %w", err)
	}
	for extension, block := range map[string]*pem.Block{
		".crt": {Type: "CERTIFICATE", Bytes: cert.Raw},
		".key": {Type: "EC PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(filepath.Join(dir, name+extension), pem.EncodeToMemory(block), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// certify makes a certificate that by signs, or itself if by is nil.
func certify(by *Authority, c x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if by == nil {
		by = &Authority{cert: &c, key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, &c, by.cert, key.Public(), by.key)
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return cert, key, err
}
