package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ready returns an error if the checkout is not in the state to release a version.
func ready(repo, version string) error {
	changed, err := command(repo, nil, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the checkout has changes that are not committed:\n%s", changed)
	}
	if tagged, _ := command(repo, nil, "git", "tag", "--list", version); tagged != "" {
		return fmt.Errorf("there is a tag %s", version)
	}
	text, err := os.ReadFile(filepath.Join(repo, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), "\n## "+strings.TrimPrefix(version, "v")) {
		return fmt.Errorf("CHANGELOG.md has no section %s", strings.TrimPrefix(version, "v"))
	}
	return nil
}

// export copies the last commit of a checkout to a folder.
func export(repo, to string) error {
	archive := exec.Command("git", "-C", repo, "archive", "HEAD")
	extract := exec.Command("tar", "-x", "-C", to)
	var said bytes.Buffer
	archive.Stderr, extract.Stderr = &said, &said
	var err error
	if extract.Stdin, err = archive.StdoutPipe(); err != nil {
		return err
	}
	if err := extract.Start(); err != nil {
		return err
	}
	if err := errors.Join(archive.Run(), extract.Wait()); err != nil {
		return fmt.Errorf("git archive: %w: %s", err, said.String())
	}
	return nil
}

// tag commits the go.mod and go.sum files of the modules in a folder, and tags each module.
func tag(repo, from, version string, all []*module) error {
	for _, m := range all {
		for _, name := range []string{"go.mod", "go.sum"} {
			text, err := os.ReadFile(filepath.Join(from, m.dir, name))
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(repo, m.dir, name), text, 0o644); err != nil {
				return err
			}
		}
	}
	if _, err := command(repo, nil, "git", "commit", "--all", "--allow-empty", "--message", "Release "+version); err != nil {
		return err
	}
	for _, m := range all {
		if _, err := command(repo, nil, "git", "tag", m.tag(version)); err != nil {
			return err
		}
	}
	return nil
}

// command runs a program in a folder, with more variables, and returns what it prints without the space around.
func command(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out.String(), said.String())
	}
	return strings.TrimSpace(out.String()), nil
}
