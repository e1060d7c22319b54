package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Backup stops both servers, copies the data of etcd, and starts the servers again. It returns
// the directory of the copy, for Restore, which lies in Dir.
func (c *Cluster) Backup(ctx context.Context) (dir string, err error) {
	dir, err = os.MkdirTemp(c.dir, "backup-")
	if err != nil {
		return "", err
	}
	return dir, c.withStopped(ctx, func() error { return os.CopyFS(filepath.Join(dir, "etcd"), os.DirFS(c.etcdData())) })
}

// Restore stops both servers, puts back the data of a Backup, and starts the servers. The
// resource version goes back, and all writes since the backup are lost. A backup can be
// restored several times.
func (c *Cluster) Restore(ctx context.Context, dir string) error {
	return c.withStopped(ctx, func() error {
		if err := os.RemoveAll(c.etcdData()); err != nil {
			return err
		}
		return os.CopyFS(c.etcdData(), os.DirFS(filepath.Join(dir, "etcd")))
	})
}

func (c *Cluster) etcdData() string { return filepath.Join(c.dir, "etcd") }

// withStopped calls do while no server runs.
func (c *Cluster) withStopped(ctx context.Context, do func() error) error {
	for _, p := range []*Process{c.APIServer, c.Etcd} {
		if err := p.Stop(ctx); err != nil {
			return err
		}
	}
	if err := do(); err != nil {
		return fmt.Errorf("data of etcd: %w", err)
	}
	for _, p := range []*Process{c.Etcd, c.APIServer} {
		if err := p.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}
