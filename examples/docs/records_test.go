package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// records collects the messages at level Warn and Error in the source of one package.
type records struct {
	vars  map[string]ast.Expr // the package's variables
	texts []string            // dots stand for what differs
}

// written returns the messages that the library writes at level Warn and Error, by a logs.Log, slog or logr. That of an
// error is the attribute logs.Message of its LogValue. Errors without one are "something failed".
func written(t *testing.T) (texts []string) {
	t.Helper()
	packages := map[string][]*ast.File{}
	for _, root := range []string{"client", "controller", "debug", "deltafifo", "index", "informer", "internal", "kind", "queue", "reflector", "shard", "store", "with"} {
		err := filepath.WalkDir(filepath.Join("../..", root), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			packages[filepath.Dir(path)] = append(packages[filepath.Dir(path)], file)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, files := range packages {
		r := records{vars: map[string]ast.Expr{}}
		for _, file := range files {
			for _, decl := range file.Decls {
				ast.Inspect(decl, func(n ast.Node) bool {
					if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Names) == len(spec.Values) {
						for n, name := range spec.Names {
							r.vars[name.Name] = spec.Values[n]
						}
					}
					_, body := n.(*ast.FuncDecl)
					return !body
				})
			}
		}
		for _, file := range files {
			for _, decl := range file.Decls {
				ast.Inspect(decl, func(n ast.Node) bool {
					if call, ok := n.(*ast.CallExpr); ok {
						r.call(decl, call)
					}
					return true
				})
			}
		}
		texts = append(texts, r.texts...)
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// call notes the messages of a call in a declaration. Any argument of a method for records may be the message: they
// differ in where they take it.
func (r *records) call(in ast.Decl, call *ast.CallExpr) {
	name, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	of, _ := name.X.(*ast.Ident)
	args := call.Args
	switch name.Sel.Name {
	case "String", "Any":
		if key, ok := first(args).(*ast.SelectorExpr); !ok || key.Sel.Name != "Message" {
			return
		}
		args = args[1:]
	case "Error":
		if of != nil && of.Name == "http" {
			return // an answer of a web server
		}
		args = args[:min(2, len(args))]
	case "warn", "Warn":
		args = args[:1]
	case "KeyError", "WarnContext", "ErrorContext":
		args = args[1:2]
	default:
		return
	}
	for _, arg := range args {
		r.texts = append(r.texts, r.text(in, arg)...)
	}
}

func first(args []ast.Expr) ast.Expr {
	if len(args) == 0 {
		return nil
	}
	return args[0]
}

var verb = regexp.MustCompile(`%[-+# 0-9.]*[a-zA-Z]`)

// text returns the texts that an expression can have, as far as they are literals.
func (r *records) text(in ast.Decl, x ast.Expr) []string {
	switch x := x.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(x.Value); err == nil && x.Kind == token.STRING {
			return []string{text}
		}
	case *ast.BinaryExpr:
		text := ""
		for _, operand := range []ast.Expr{x.X, x.Y} {
			if known := r.text(in, operand); len(known) == 1 {
				text += known[0]
			} else {
				text += "…"
			}
		}
		return []string{text}
	case *ast.CallExpr: // fmt.Errorf, mistake.Text and the like
		if known := r.text(in, first(x.Args)); len(known) == 1 {
			return []string{verb.ReplaceAllString(known[0], "…")}
		}
	case *ast.Ident:
		if value, ok := r.vars[x.Name]; ok {
			return r.text(in, value)
		}
		return r.assigned(in, x.Name)
	}
	return nil
}

// assigned returns the texts that a function's variable gets.
func (r *records) assigned(in ast.Decl, name string) (texts []string) {
	ast.Inspect(in, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) == len(a.Rhs) {
			for n, to := range a.Lhs {
				if of, ok := to.(*ast.Ident); ok && of.Name == name {
					texts = append(texts, r.text(in, a.Rhs[n])...)
				}
			}
		}
		return true
	})
	return texts
}

// pattern matches what a message with dots can be.
func pattern(text string) *regexp.Regexp {
	parts := strings.Split(text, "…")
	for n, part := range parts {
		parts[n] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".+") + "$")
}

var span = regexp.MustCompile("`([^`\n]+)`")

// TestRecords holds docs/troubleshooting.md to showing the message of each record at level Warn or Error, and no others
// in its table of records.
func TestRecords(t *testing.T) {
	page := pages(t)["troubleshooting.md"]
	shown, texts := spans(page), written(t)
	var patterns []*regexp.Regexp
	for _, text := range texts {
		p := pattern(text)
		patterns = append(patterns, p)
		if !slices.ContainsFunc(shown, p.MatchString) {
			t.Errorf("troubleshooting.md does not have the record %q: add it to its table, or to a section", text)
		}
	}
	_, table, _ := strings.Cut(page, "| --- | --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	for _, row := range rows {
		column, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		for _, text := range spans(column) {
			if !slices.ContainsFunc(patterns, func(p *regexp.Regexp) bool { return p.MatchString(text) }) {
				t.Errorf("no package writes the record %q", text)
			}
		}
	}
	if len(texts) < 25 || len(rows) < 15 {
		t.Errorf("only %d records and %d rows were found", len(texts), len(rows))
	}
}

// spans returns what is shown as code.
func spans(text string) (all []string) {
	for _, found := range span.FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	return all
}
