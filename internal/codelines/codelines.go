// Package codelines counts the lines of Go code that a program takes.
package codelines

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"strings"
)

// InFile returns the number of lines of a Go file that have code: without the imports, comments
// and blank lines. A line with code and a comment counts.
func InFile(path string) (int, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return Count(source)
}

// Count is InFile for the text of a file.
func Count(source []byte) (int, error) {
	imported, err := importLines(source)
	if err != nil {
		return 0, err
	}
	code := map[int]bool{}
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(source))
	s.Init(file, source, nil, 0) // leaves out comments
	for {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			return len(code), nil
		}
		if kind == token.SEMICOLON && text == "\n" {
			continue // the end of a line
		}
		first := file.Line(pos)
		for n := first; n <= first+strings.Count(text, "\n"); n++ {
			if !imported[n] {
				code[n] = true
			}
		}
	}
}

// importLines returns the lines of the import declarations.
func importLines(source []byte) (map[int]bool, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, "", source, 0) // whole, since text that is not Go has no lines of code
	if err != nil {
		return nil, err
	}
	lines := map[int]bool{}
	for _, declaration := range parsed.Decls {
		block, ok := declaration.(*ast.GenDecl)
		if !ok || block.Tok != token.IMPORT {
			continue
		}
		for n := files.Position(block.Pos()).Line; n <= files.Position(block.End()-1).Line; n++ {
			lines[n] = true
		}
	}
	return lines, nil
}
