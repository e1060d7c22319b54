package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
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

// programsFrom is the module with the programs that replace envtest's. programPackages are built in it.
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
	for _, name := range []string{"LICENSE", "NOTICE"} {
		if err := addFile(root, bin, name); err != nil {
			return err
		}
	}
	others, err := notices(filepath.Join(root, programsFrom), env, programPackages)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(bin, "THIRD_PARTY_NOTICES"), others, 0o644); err != nil {
		return err
	}
	return pack(bin, archive)
}

// notices returns the licenses and notices of Go and of the modules of others that packages are built from. Code that a
// module has taken over has its license in a folder above it.
func notices(dir string, env, packages []string) ([]byte, error) {
	const each = "{{if .Standard}}{{else}}{{.Dir}}\t{{.Module.Dir}}\t{{.Module.Path}} {{.Module.Version}}{{end}}"
	out, err := command(dir, env, "go", append([]string{"list", "-deps", "-tags", "grpcnotrace", "-f", each}, packages...)...)
	if err != nil {
		return nil, err
	}
	root, err := command(dir, env, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	folders, licensed := map[string]string{root: "Go"}, map[string]bool{}
	for line := range strings.Lines(out) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 || strings.HasPrefix(fields[2], rootPath) {
			continue
		}
		for at, top := fields[0], fields[1]; len(at) >= len(top); at = filepath.Dir(at) {
			folders[at] = fields[2] + filepath.ToSlash(strings.TrimPrefix(at, top))
		}
		licensed[fields[2]] = false
	}
	var all bytes.Buffer
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		found, err := addNotices(&all, folder, folders[folder])
		if err != nil {
			return nil, err
		}
		if name := folders[folder]; found {
			licensed[name] = true
		}
	}
	for name, has := range licensed {
		if !has {
			return nil, fmt.Errorf("%s has no license", name)
		}
	}
	return all.Bytes(), nil
}

// addNotices adds the licenses and notices in one folder, and reports whether there are any.
func addNotices(all *bytes.Buffer, folder, name string) (found bool, err error) {
	files, err := os.ReadDir(folder)
	for _, file := range files {
		if file.IsDir() || !licenseFile.MatchString(file.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, file.Name()))
		if err != nil {
			return false, err
		}
		fmt.Fprintf(all, "==== %s: %s\n\n%s\n\n", name, file.Name(), bytes.TrimSpace(text))
		found = true
	}
	return found, err
}

var licenseFile = regexp.MustCompile(`(?i)^(licen[sc]e|notice|copying|patents)(\.(txt|md))?$`)

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
