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

// isSpec tells the name of a spec from that of a test.
func isSpec(name string) bool { return strings.Contains(name, " ") }

// readSpecs reads a report that Ginkgo has written.
func readSpecs(path string) ([]spec, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var reports []struct {
		SpecReports []struct {
			ContainerHierarchyTexts    []string
			LeafNodeText, LeafNodeType string
			LeafNodeLocation           struct{ FileName string }
			State                      string
		}
	}
	if err := json.Unmarshal(text, &reports); err != nil {
		return nil, fmt.Errorf("the report of the specs: %w", err)
	}
	ends := map[string]string{"passed": "PASS", "skipped": "SKIP", "pending": "SKIP"}
	var all []spec
	for _, report := range reports {
		for _, s := range report.SpecReports {
			if s.LeafNodeType != "It" {
				continue
			}
			end, ok := ends[s.State]
			if !ok {
				end = "FAIL"
			}
			name := strings.Join(append(s.ContainerHierarchyTexts, s.LeafNodeText), " ")
			all = append(all, spec{name, filepath.Base(s.LeafNodeLocation.FileName), end})
		}
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
