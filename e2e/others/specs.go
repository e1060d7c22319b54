package others

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// spec is a spec of Ginkgo.
type spec struct {
	name string // the texts of its containers and its own
	file string
	end  string // PASS, FAIL or SKIP
}

// isSpec tells the name of a spec from the name of a test.
func isSpec(name string) bool { return strings.Contains(name, " ") }

// Node is a spec, or what runs before or after specs, in a report of Ginkgo.
type Node struct {
	ContainerHierarchyTexts []string
	LeafNodeText            string
	LeafNodeType            string // It for a spec
	LeafNodeLocation        struct{ FileName string }
	State                   string // passed, skipped, pending; others for failures
	Failure                 struct{ Message string }
}

// Name returns the texts of the containers and the node's own.
func (n Node) Name() string {
	return strings.Join(append(slices.Clone(n.ContainerHierarchyTexts), n.LeafNodeText), " ")
}

// ReadReport reads a report that Ginkgo has written.
func ReadReport(path string) (all []Node, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var reports []struct{ SpecReports []Node }
	if err := json.Unmarshal(text, &reports); err != nil {
		return nil, fmt.Errorf("the report of the specs: %w", err)
	}
	for _, report := range reports {
		all = append(all, report.SpecReports...)
	}
	return all, nil
}

// readSpecs reads the specs of a report.
func readSpecs(path string) ([]spec, error) {
	nodes, err := ReadReport(path)
	if err != nil {
		return nil, err
	}
	ends := map[string]string{"passed": "PASS", "skipped": "SKIP", "pending": "SKIP"}
	var all []spec
	for _, n := range nodes {
		if n.LeafNodeType != "It" {
			continue
		}
		end, ok := ends[n.State]
		if !ok {
			end = "FAIL"
		}
		all = append(all, spec{n.Name(), filepath.Base(n.LeafNodeLocation.FileName), end})
	}
	return all, nil
}

// addSpecs adds the specs of the last run to the tests of their files.
func (r runner) addSpecs(files []testFile) ([]testFile, error) {
	specs, err := readSpecs(r.report)
	if err != nil {
		return nil, err
	}
	for _, s := range specs {
		at := slices.IndexFunc(files, func(f testFile) bool { return f.name == s.file })
		if at < 0 {
			at, files = len(files), append(files, testFile{name: s.file})
		}
		files[at].tests = append(files[at].tests, s.name)
	}
	slices.SortFunc(files, func(a, b testFile) int { return strings.Compare(a.name, b.name) })
	return files, nil
}
