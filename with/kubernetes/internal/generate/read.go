package main

import (
	_ "embed"
	"encoding/json"
	"strings"
)

//go:embed discovery.json
var recorded []byte

// group is an API group as aggregated discovery describes it, in the server's order of versions.
type group struct {
	Name     string
	Versions []struct {
		Version   string
		Resources []resource
	}
}

type resource struct {
	Resource     string
	Scope        string // "Namespaced" or "Cluster"
	ResponseKind struct{ Kind string }
	Verbs        []string
	ShortNames   []string
	Categories   []string
	Subresources []struct{ Subresource string }
}

// withoutTypes are the groups whose types are not in k8s.io/api.
var withoutTypes = map[string]bool{"apiextensions.k8s.io": true, "apiregistration.k8s.io": true}

// pkg is a package to generate: one version of a group.
type pkg struct {
	group, version string
	folder         string // below the module's
	types          string // import path of the Go types
	resources      []resource
}

// read returns the packages of the recorded discovery.
func read() ([]pkg, error) {
	var groups []group
	if err := json.Unmarshal(recorded, &groups); err != nil {
		return nil, err
	}
	var pkgs []pkg
	for _, g := range groups {
		if withoutTypes[g.Name] {
			continue
		}
		name, _, _ := strings.Cut(g.Name, ".")
		if name == "" {
			name = "core"
		}
		for i, v := range g.Versions {
			p := pkg{group: g.Name, version: v.Version, folder: name, types: "k8s.io/api/" + name + "/" + v.Version, resources: v.Resources}
			if i > 0 { // the server prefers the first
				p.folder += "/" + v.Version
			}
			pkgs = append(pkgs, p)
		}
	}
	return pkgs, nil
}
