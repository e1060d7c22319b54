// Release prepares a version of all modules that others import. It works on the last commit.
//
//	GOWORK=off go run -C tools ./release -version v0.1.0 -proxy DIR   # only writes the modules, as a GOPROXY has them
//	GOWORK=off go run -C tools ./release -version v0.1.0              # also commits their go.mod files, and tags all
//
// Within the workspace, modules do not name each other. A published one must: so their go.mod and go.sum files
// get the version, in the order of their imports, by "go mod tidy" with what was written before as the proxy.
//
// It commits and tags in a clone first. There each module is built from the tags alone: as it is at its tag, and as a
// dependency of another module. The commit and the tags come into the checkout only if all of them build. Nothing is
// pushed.
//
// One run at a time: a run removes its version from the module cache, and puts it there again.
//
// With -programs DIR it also builds the programs that replace envtest's, for each platform, from the modules of
// that version. DIR gets one archive for each platform, and SHA256SUMS.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"

	"golang.org/x/mod/semver"
)

func main() {
	log.SetFlags(0)
	version := flag.String("version", "", "the version, as v0.1.0")
	proxy := flag.String("proxy", "", "write the modules to this folder, and do not commit or tag")
	programs := flag.String("programs", "", "also write archives of the programs for envtest to this folder")
	repo := flag.String("repo", "..", "the checkout")
	flag.Parse()
	if err := run(*repo, *version, *proxy, *programs); err != nil {
		log.Fatalf("release: %v", err)
	}
}

func run(repo, version, proxy, programs string) error {
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		return fmt.Errorf("%q is no version: write it as v0.1.0", version)
	}
	work, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	tags := proxy == ""
	if tags {
		if err := ready(repo, version); err != nil {
			return err
		}
		if proxy, err = os.MkdirTemp("", "modules"); err != nil {
			return err
		}
		defer os.RemoveAll(proxy)
	}
	if err := clone(repo, work); err != nil {
		return err
	}
	all, err := modules(work)
	if err != nil {
		return err
	}
	for _, m := range all {
		if err := m.forget(version); err != nil {
			return err
		}
		defer m.forget(version)
		if err := m.name(work, version, proxy); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
		if err := m.write(work, version, proxy, fromFolder); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
		log.Printf("%s %s", m.path, version)
	}
	if tags {
		if err := tag(work, version, all); err != nil {
			return err
		}
		if err := fromTags(work, version, all); err != nil {
			return err
		}
	}
	if programs != "" {
		if err := buildPrograms(work, version, proxy, programs); err != nil {
			return err
		}
	}
	if !tags {
		return nil
	}
	return fetch(repo, work)
}

// fromTags builds each module from the tags of a clone alone, by a proxy that has nothing else of ours.
func fromTags(clone, version string, all []*module) error {
	proxy, err := os.MkdirTemp("", "tags")
	if err != nil {
		return err
	}
	defer os.RemoveAll(proxy)
	for _, m := range all {
		if err := m.forget(version); err != nil {
			return err
		}
		if err := m.write(clone, version, proxy, fromTag); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
		if err := m.build(clone, version, proxy); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
		log.Printf("%s builds from the tags alone", m.path)
	}
	return nil
}
