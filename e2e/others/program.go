package others

import (
	"context"
	_ "embed"
	"path/filepath"
)

//go:embed hooks/website.go.txt
var websiteHook string

// Program is a program that knows nothing of Kinform, and the change that moves it over.
type Program struct {
	Name    string
	Module  string // with its version, if this repository does not know it
	Sum     string // of the module, if it has a version
	Package string // the package that has the change
	Main    string // the package of the program
	Added   map[string]string
	Change  []Edit
}

// Programs are an example of client-go, and one in the way of kubebuilder: a CRD with a finalizer,
// conditions and an owned Deployment.
func Programs() []Program {
	const sample, website = "k8s.io/sample-controller", "github.com/kinform/kinform/bench/twins/website"
	return []Program{
		{
			Name: "sample-controller", Module: sample + "@v0.37.1", Sum: "h1:0He5Y5C6L1SwyOmWt7gBo6/EWr00ulyx/i0QIN00Rr0=",
			Package: sample, Main: sample,
			Change: []Edit{
				{"main.go", instead(`"k8s.io/client-go/informers"`, `"github.com/kinform/kinform/with/clientgo/informers"`)},
				{"main.go", instead("exampleInformerFactory.Samplecontroller().", `samplecontroller.New(clientgo.Factory(exampleInformerFactory), "", nil).`)},
				{"main.go", imports("github.com/kinform/kinform/with/clientgo")},
				{"main.go", imports("k8s.io/sample-controller/pkg/generated/informers/externalversions/samplecontroller")},
			},
		},
		{
			Name: "website", Package: website, Main: website + "/main",
			Added: map[string]string{website + "/main/main.go": websiteHook},
			Change: []Edit{
				{"controller.go", instead("ctrl.Options{Scheme: scheme()}", "ctrl.Options{Scheme: scheme(), NewCache: controllerruntime.NewCache}")},
				{"controller.go", imports("github.com/kinform/kinform/with/controllerruntime")},
			},
		},
	}
}

// Build compiles the program as it is, and with the change. Files of it are in dir.
func (p Program) Build(ctx context.Context, dir string) (before, after string, err error) {
	w := &workspace{}
	if p.Module != "" {
		if w, err = withModule(ctx, p.Module, p.Sum, dir); err != nil {
			return "", "", err
		}
	}
	build := func(binary string, edits []Edit) (string, error) {
		file, err := overlay(ctx, w, dir, p.Package, edits, p.Added)
		if err != nil {
			return "", err
		}
		binary = filepath.Join(dir, binary)
		_, err = w.command(ctx, "build", "-trimpath", "-overlay", file, "-o", binary, p.Main)
		return binary, err
	}
	if before, err = build("before", nil); err != nil {
		return "", "", err
	}
	after, err = build("after", p.Change)
	return before, after, err
}
