package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// buildArchive builds the programs for one platform, and packs them with the licenses of all that is linked into them.
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
	notices, err := notices(filepath.Join(root, programsFrom), env, programPackages)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(bin, "THIRD_PARTY_NOTICES"), notices, 0o644); err != nil {
		return err
	}
	return pack(bin, archive)
}

// notices returns the licenses and notices of the modules of others that packages are built from.
func notices(dir string, env, packages []string) ([]byte, error) {
	const each = "{{with .Module}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}"
	out, err := command(dir, env, "go", append([]string{"list", "-deps", "-tags", "grpcnotrace", "-f", each}, packages...)...)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(out, "\n")
	slices.Sort(lines)
	var all bytes.Buffer
	for _, line := range slices.Compact(lines) {
		name, from, ok := strings.Cut(line, "\t")
		if !ok || strings.HasPrefix(name, rootPath) {
			continue
		}
		files, err := os.ReadDir(from)
		if err != nil {
			return nil, err
		}
		found := 0
		for _, file := range files {
			if !licenseFile.MatchString(file.Name()) || file.IsDir() {
				continue
			}
			text, err := os.ReadFile(filepath.Join(from, file.Name()))
			if err != nil {
				return nil, err
			}
			found++
			fmt.Fprintf(&all, "==== %s: %s\n\n%s\n\n", name, file.Name(), bytes.TrimSpace(text))
		}
		if found == 0 {
			return nil, fmt.Errorf("%s has no license in %s", name, from)
		}
	}
	return all.Bytes(), nil
}

var licenseFile = regexp.MustCompile(`(?i)^(licen[sc]e|notice|copying|patents)`)

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
