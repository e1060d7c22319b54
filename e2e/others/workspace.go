package others

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// workspace is the go command in the workspace of this repository, in which one module is used
// under another path: the command refuses an overlay of files in its module cache.
type workspace struct {
	file string
}

// newWorkspace makes a workspace in which module has a path below dir.
func newWorkspace(ctx context.Context, module, dir string) (*workspace, error) {
	w := &workspace{}
	folder, err := w.command(ctx, "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return nil, err
	}
	return w, w.use(ctx, dir, folder, "replace "+module+" => %s")
}

// withModule makes a workspace that also has a module that this repository does not know.
func withModule(ctx context.Context, module, sum, dir string) (*workspace, error) {
	w := &workspace{}
	text, err := w.command(ctx, "mod", "download", "-json", module)
	if err != nil {
		return nil, err
	}
	var got struct{ Dir, Sum string }
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		return nil, err
	}
	if got.Sum != sum {
		return nil, fmt.Errorf("%s has the sum %s and not %s", module, got.Sum, sum)
	}
	return w, w.use(ctx, dir, got.Dir, "use %s")
}

// use puts a link to folder, and the file of a workspace that has it by the directive, into dir.
func (w *workspace) use(ctx context.Context, dir, folder, directive string) error {
	here, err := w.command(ctx, "env", "GOWORK")
	if err != nil {
		return err
	}
	text, err := w.command(ctx, "work", "edit", "-json")
	if err != nil {
		return err
	}
	var old struct {
		Go  string
		Use []struct{ DiskPath string }
	}
	if err := json.Unmarshal([]byte(text), &old); err != nil {
		return err
	}
	link := filepath.Join(dir, "module")
	if err := os.Symlink(folder, link); err != nil {
		return err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "go %s\n\n"+directive+"\n\n", old.Go, link)
	for _, use := range old.Use {
		fmt.Fprintf(&out, "use %s\n", filepath.Join(filepath.Dir(here), use.DiskPath))
	}
	sums, err := os.ReadFile(here + ".sum")
	if err != nil {
		return err
	}
	w.file = filepath.Join(dir, "go.work")
	if err := os.WriteFile(w.file+".sum", sums, 0o600); err != nil {
		return err
	}
	return os.WriteFile(w.file, []byte(out.String()), 0o600)
}

// folder returns the folder of a package.
func (w *workspace) folder(ctx context.Context, path string) (string, error) {
	return w.command(ctx, "list", "-f", "{{.Dir}}", path)
}

// command runs the go command and returns what it prints.
func (w *workspace) command(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	if w.file != "" {
		cmd.Env = append(os.Environ(), "GOWORK="+w.file)
	}
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, failed.String())
	}
	return strings.TrimSpace(string(out)), nil
}
