package website_test

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"strings"
	"testing"
)

// TestLines holds the controller to 60 lines of code: without imports, comments and blank lines.
func TestLines(t *testing.T) {
	source, err := os.ReadFile("controller.go")
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, "controller.go", source, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	imported := map[int]bool{}
	for _, declaration := range parsed.Decls {
		block := declaration.(*ast.GenDecl)
		for n := files.Position(block.Pos()).Line; n <= files.Position(block.End()).Line; n++ {
			imported[n] = true
		}
	}
	code := map[int]bool{}
	var s scanner.Scanner
	file := files.AddFile("again", -1, len(source))
	s.Init(file, source, nil, 0) // leaves out comments
	for {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			break
		}
		if kind == token.SEMICOLON && text == "\n" {
			continue // the end of a line
		}
		first := file.Line(pos)
		for n := first; n <= first+strings.Count(text, "\n"); n++ {
			code[n] = code[n] || !imported[n]
		}
	}
	count := 0
	for _, is := range code {
		if is {
			count++
		}
	}
	t.Logf("%d lines", count)
	if count > 60 || count < 20 {
		t.Errorf("the controller has %d lines of code, want at most 60", count)
	}
}
