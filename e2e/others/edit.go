package others

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
)

// Edit changes the source of one file.
type Edit struct {
	File string // its name in the folder of the package
	Do   func(*source)
}

// source is a file under change. All insertions refer to the file as it was.
type source struct {
	text  string
	set   *token.FileSet
	file  *ast.File
	after []insertion
	err   error
}

type insertion struct {
	at   int // the offset
	cut  int // the length of the text that is replaced
	text string
}

// edited returns the text of a file after the edits.
func edited(path string, edits []func(*source)) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	s := &source{text: string(text), set: token.NewFileSet()}
	if s.file, err = parser.ParseFile(s.set, path, text, parser.SkipObjectResolution); err != nil {
		return "", err
	}
	for _, edit := range edits {
		edit(s)
	}
	if s.err != nil {
		return "", s.err
	}
	slices.SortStableFunc(s.after, func(a, b insertion) int { return cmp.Compare(b.at, a.at) })
	out := s.text
	for _, in := range s.after {
		out = out[:in.at] + in.text + out[in.at+in.cut:]
	}
	return out, nil
}

func (s *source) offset(pos token.Pos) int { return s.set.Position(pos).Offset }

// functions calls visit for each function with a body. recv is "" for those that are no methods.
func (s *source) functions(visit func(recv string, fn *ast.FuncDecl)) {
	for _, decl := range s.file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
			visit(receiver(fn), fn)
		}
	}
}

// receiver returns the name of the receiver's type.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	t := fn.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	if name, ok := t.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// begin puts code at the beginning of a function. It is on the line of the brace, so that lines
// keep their numbers.
func begin(name, code string) func(*source) {
	return func(s *source) {
		s.functions(func(recv string, fn *ast.FuncDecl) {
			if recv == "" && fn.Name.Name == name {
				s.insert(fn.Body.Lbrace+1, " "+code)
			}
		})
	}
}

// end puts code at the end of a file.
func end(code string) func(*source) {
	return func(s *source) { s.after = append(s.after, insertion{at: len(s.text), text: code}) }
}

// instead puts text in the place of the only occurrence of old.
func instead(old, text string) func(*source) {
	return func(s *source) {
		if n := strings.Count(s.text, old); n != 1 {
			s.err = fmt.Errorf("%q is there %d times", old, n)
			return
		}
		s.after = append(s.after, insertion{at: strings.Index(s.text, old), cut: len(old), text: text})
	}
}

// imports adds an import.
func imports(path string) func(*source) {
	return func(s *source) { s.insert(s.file.Name.End(), fmt.Sprintf("; import %q", path)) }
}

// swap lets a function call another one of the same type: the value of the variable Kinform and its
// name, if that is set and the condition holds.
func swap(name, condition string) func(*source) {
	return func(s *source) {
		s.functions(func(recv string, fn *ast.FuncDecl) {
			if recv != "" || fn.Name.Name != name {
				return
			}
			s.insert(fn.Body.Lbrace+1, fmt.Sprintf(" if Kinform%s != nil%s { return Kinform%[1]s(%[3]s) };", name, condition, arguments(fn)))
			end(fmt.Sprintf("\nvar Kinform%s func%s\n", name, s.text[s.offset(fn.Type.Params.Pos()):s.offset(fn.Type.End())]))(s)
		})
	}
}

// delegate gives a struct a field, and lets the exported methods of its pointers, but for some,
// call the same method of the field if that is set.
func delegate(typ, field, fieldType string, but ...string) func(*source) {
	return func(s *source) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name == typ {
				if def, ok := spec.Type.(*ast.StructType); ok {
					s.insert(def.Fields.Opening+1, " "+field+" "+fieldType+";")
				}
			}
			return true
		})
		s.functions(func(recv string, fn *ast.FuncDecl) {
			if recv != typ || !fn.Name.IsExported() || slices.Contains(but, fn.Name.Name) || len(fn.Recv.List[0].Names) == 0 {
				return
			}
			target := fn.Recv.List[0].Names[0].Name + "." + field
			call := fmt.Sprintf("%s.%s(%s)", target, fn.Name.Name, arguments(fn))
			if fn.Type.Results == nil {
				call += "; return"
			} else {
				call = "return " + call
			}
			s.insert(fn.Body.Lbrace+1, fmt.Sprintf(" if %s != nil { %s };", target, call))
		})
	}
}

func (s *source) insert(pos token.Pos, text string) {
	s.after = append(s.after, insertion{at: s.offset(pos), text: text})
}

// arguments returns the parameters of a function as arguments of a call.
func arguments(fn *ast.FuncDecl) string {
	var all []string
	for _, param := range fn.Type.Params.List {
		for _, name := range param.Names {
			arg := name.Name
			if _, variadic := param.Type.(*ast.Ellipsis); variadic {
				arg += "..."
			}
			all = append(all, arg)
		}
	}
	return strings.Join(all, ", ")
}
