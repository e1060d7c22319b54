package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// platforms are the systems that programs are built for.
var platforms = []struct{ os, arch string }{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"},
}

// programsFrom is the module with the programs that replace those of envtest. programPackages are built in it.
const programsFrom = "with/strategies"

var programPackages = []string{"./cmd/...", rootPath + "/with/envtest/cmd/etcd"}

// buildPrograms builds the programs for each platform, from the modules in a folder whose go.mod files name their
// versions. It writes an archive for each to a folder, and the file SHA256SUMS.
func buildPrograms(root, version, proxy, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	var sums strings.Builder
	for _, on := range platforms {
		name := fmt.Sprintf("kinform-envtest_%s_%s_%s.tar.gz", version, on.os, on.arch)
		env := append(from(proxy), "GOOS="+on.os, "GOARCH="+on.arch, "CGO_ENABLED=0")
		if err := buildArchive(root, env, filepath.Join(to, name)); err != nil {
			return err
		}
		data, err := os.ReadFile(filepath.Join(to, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), name)
	}
	return os.WriteFile(filepath.Join(to, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// buildArchive builds the programs for one platform, and packs them with the license.
func buildArchive(root string, env []string, archive string) error {
	bin, err := os.MkdirTemp("", "programs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)
	args := append([]string{"build", "-trimpath", "-ldflags=-s -w", "-tags", "grpcnotrace", "-o", bin + "/"}, programPackages...)
	if _, err := command(filepath.Join(root, programsFrom), env, "go", args...); err != nil {
		return err
	}
	if err := addLicense(root, bin); err != nil {
		return err
	}
	return pack(bin, archive)
}

// pack writes the files of a folder to an archive. The same files give the same bytes.
func pack(dir, archive string) (err error) {
	f, err := os.Create(archive)
	if err != nil {
		return err
	}
	zipped := gzip.NewWriter(f)
	packed := tar.NewWriter(zipped)
	defer func() {
		for _, c := range []io.Closer{packed, zipped, f} {
			if closed := c.Close(); err == nil {
				err = closed
			}
		}
	}()
	files, err := os.ReadDir(dir) // in order of their names
	if err != nil {
		return err
	}
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			return err
		}
		if err := packed.WriteHeader(&tar.Header{Name: file.Name(), Mode: 0o755, Size: int64(len(data))}); err != nil {
			return err
		}
		if _, err := packed.Write(data); err != nil {
			return err
		}
	}
	return nil
}
