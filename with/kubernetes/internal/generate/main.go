// Command generate writes the packages of with/kubernetes from discovery.json. Run it in the
// folder of the module, by go generate.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
)

func main() {
	if err := run("."); err != nil {
		log.Fatal(err)
	}
}

// run writes all files below the folder of the module.
func run(module string) error {
	files, err := generate()
	if err != nil {
		return err
	}
	for path, text := range files {
		path = filepath.Join(module, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o666); err != nil {
			return fmt.Errorf("generated file: %w", err)
		}
	}
	return nil
}
