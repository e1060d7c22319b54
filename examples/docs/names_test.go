package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// most is how many exported top-level names the packages that an author meets may have together, and plain how many of
// these may be in no Example. Both only go down.
const most, plain = 270, 1

// TestNames: the packages have few names, and an Example is named after each or uses it, or an example program does. Who
// calls a method or reads a field uses its type.
func TestNames(t *testing.T) {
	shown, names, gives := map[string]bool{}, []string{}, map[string][]string{}
	met := strings.Fields("kinform reflector deltafifo store index informer queue fake client controller")
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.Contains(path, "testdata") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		program := strings.HasPrefix(path, filepath.Join("..", "..", "examples")) || strings.HasPrefix(d.Name(), "example")
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if ok && strings.HasPrefix(f.Name.Name, "Example") {
				name, _, _ := strings.Cut(strings.TrimPrefix(f.Name.Name, "Example"), "_")
				shown[strings.TrimSuffix(file.Name.Name, "_test")+"."+name] = true
				uses(decl, shown)
			} else if program {
				uses(decl, shown)
			}
		}
		own := filepath.Dir(path) == filepath.Join("..", "..", file.Name.Name) || filepath.Dir(path) == filepath.Join("..", "..")
		if own && slices.Contains(met, file.Name.Name) && !strings.HasSuffix(path, "_test.go") {
			names = append(names, exported(file)...)
			members(file, gives)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for member, all := range gives {
		for _, name := range all {
			shown[name] = shown[name] || shown[member]
		}
	}
	without := slices.DeleteFunc(slices.Sorted(slices.Values(names)), func(name string) bool { return shown[name] })
	if len(names) > most || len(without) > plain {
		t.Errorf("%d names, at most %d; %d of them in no Example, at most %d: %s", len(names), most, len(without), plain, without)
	}
	t.Log(len(names), len(without), without)
}

// uses adds what a declaration names of other packages.
func uses(decl ast.Decl, shown map[string]bool) {
	ast.Inspect(decl, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			shown[s.Sel.Name] = true
			if of, ok := s.X.(*ast.Ident); ok {
				shown[of.Name+"."+s.Sel.Name] = true
			}
		}
		return true
	})
}

// members adds the types that members of a file's types have or return, with the name of its package.
func members(file *ast.File, gives map[string][]string) {
	ast.Inspect(file, func(n ast.Node) bool {
		f, ok := n.(*ast.Field)
		if d, isFunc := n.(*ast.FuncDecl); isFunc && d.Type.Results != nil && len(d.Type.Results.List) > 0 {
			f, ok = &ast.Field{Names: []*ast.Ident{d.Name}, Type: d.Type.Results.List[0].Type}, true
		}
		for ok && len(f.Names) > 0 {
			if id, named := f.Type.(*ast.Ident); named {
				for _, member := range f.Names {
					gives[member.Name] = append(gives[member.Name], file.Name.Name+"."+id.Name)
				}
			}
			switch of := f.Type.(type) {
			case *ast.StarExpr:
				f = &ast.Field{Names: f.Names, Type: of.X}
			case *ast.IndexExpr:
				f = &ast.Field{Names: f.Names, Type: of.X}
			case *ast.IndexListExpr:
				f = &ast.Field{Names: f.Names, Type: of.X}
			default:
				ok = false
			}
		}
		return true
	})
}

// exported returns the exported top-level names of a file, with the name of its package.
func exported(file *ast.File) (names []string) {
	add := func(id *ast.Ident) {
		if id.IsExported() {
			names = append(names, file.Name.Name+"."+id.Name)
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					add(s.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						add(id)
					}
				}
			}
		}
	}
	return names
}
