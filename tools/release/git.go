package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
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
	for _, dir := range published {
		tag := (&module{dir: dir}).tag(version)
		if tagged, err := command(repo, nil, "git", "tag", "--list", tag); tagged != "" || err != nil {
			return cmp.Or(err, fmt.Errorf("there is a tag %s", tag))
		}
	}
	text, err := os.ReadFile(filepath.Join(repo, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	heading := "## " + strings.TrimPrefix(version, "v")
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == heading || strings.HasPrefix(line, heading+" ") {
			return nil
		}
	}
	return fmt.Errorf("CHANGELOG.md has no section %s", strings.TrimPrefix(version, "v"))
}

// clone clones the last commit of a checkout into a folder, with the checkout's author.
func clone(repo, to string) error {
	args := []string{"clone", "--quiet"}
	for _, key := range []string{"user.name", "user.email"} {
		if value, _ := command(repo, nil, "git", "config", key); value != "" {
			args = append(args, "--config", key+"="+value)
		}
	}
	_, err := command("", nil, "git", append(args, repo, to)...)
	return err
}

// tag commits the go.mod and go.sum files of the modules in a clone, and tags each module.
func tag(clone, version string, all []*module) error {
	for _, m := range all {
		for _, name := range []string{"go.mod", "go.sum"} {
			file := filepath.Join(m.dir, name)
			if _, err := os.Stat(filepath.Join(clone, file)); errors.Is(err, fs.ErrNotExist) {
				continue // it needs no other module
			}
			if _, err := command(clone, nil, "git", "add", file); err != nil {
				return err
			}
		}
	}
	if _, err := command(clone, nil, "git", "commit", "--allow-empty", "--message", "Release "+version); err != nil {
		return err
	}
	for _, m := range all {
		if _, err := command(clone, nil, "git", "tag", m.tag(version)); err != nil {
			return err
		}
	}
	return nil
}

// fetch brings the commit and the tags of a clone into the checkout. If the checkout has another commit since, it stays
// as it is.
func fetch(repo, clone string) error {
	for _, args := range [][]string{
		{"fetch", "--quiet", "--no-tags", clone, "HEAD"}, {"merge", "--quiet", "--ff-only", "FETCH_HEAD"}, {"fetch", "--quiet", "--tags", clone},
	} {
		if _, err := command(repo, nil, "git", args...); err != nil {
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
