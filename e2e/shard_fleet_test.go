//go:build e2e

package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/e2e/cluster"
	"github.com/kinform/kinform/e2e/oracle"
	"github.com/kinform/kinform/reflector"
	"github.com/kinform/kinform/shard"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// shardNamespace and shardName are the names in docs/sharding.md, whose manifests the replicas run
// with.
const (
	shardNamespace = "prod"
	shardName      = "websites.example.com"
)

// fleet is replicas as processes, and an observer of what they do.
type fleet struct {
	t     *testing.T
	c     *cluster.Cluster
	conn  client.Connection
	lease time.Duration
	token string // of the replicas
	all   map[string]*replicaProcess
	names []string // of the objects

	mu      sync.Mutex
	seen    map[string]*observed
	written int
	told    int
}

// observed is what the observer knows about an object.
type observed struct {
	number int64
	by     string // identity and UID of the Lease
	turn   string // of the newest reconcile
	at     time.Time
	idle   time.Duration // the longest time between two reconciles since it was asked
}

type replicaProcess struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	costs chan costs
	ended chan struct{}
}

// writtenObjects limits the number of objects that reconciles write to, and writesPerSecond how
// often they do.
const (
	writtenObjects  = 1000
	writesPerSecond = 200
)

// newFleet starts a server with objects and an observer. No replica runs.
func newFleet(ctx context.Context, t *testing.T, objects int, lease time.Duration) *fleet {
	t.Helper()
	c := cluster.Start(t, cluster.Options{})
	f := &fleet{t: t, c: c, conn: connect(t, c), lease: lease, all: map[string]*replicaProcess{}, seen: map[string]*observed{}}
	f.applyDocs(ctx)
	every := max(1, objects/writtenObjects)
	for n := range objects {
		prefix := "other-"
		if n%every == 0 {
			prefix = writtenPrefix
		}
		f.names = append(f.names, fmt.Sprint(prefix, n))
	}
	maps, err := client.New(f.conn, core.ConfigMaps, client.Options{Namespace: shardNamespace})
	must(t, err)
	createMaps(ctx, t, maps, shardNamespace, "shards", f.names)
	watching, endWatch := context.WithCancel(ctx)
	var observer sync.WaitGroup
	observer.Go(func() { f.observe(watching) })
	t.Cleanup(func() {
		for _, p := range f.all {
			_ = p.cmd.Process.Kill()
			<-p.ended
		}
		endWatch()
		observer.Wait()
	})
	return f
}

// createMaps creates objects with a label test, several at a time.
func createMaps(ctx context.Context, t *testing.T, maps *client.Resource[*corev1.ConfigMap], namespace, label string, names []string) {
	t.Helper()
	const creators = 8
	var group sync.WaitGroup
	for part := range creators {
		group.Go(func() {
			for n := part; n < len(names); n += creators {
				_, err := maps.Create(ctx, &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names[n], Labels: map[string]string{"test": label}},
					Data:       map[string]string{"text": strings.Repeat("x", 500)},
				}, metav1.CreateOptions{})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

// manifest matches a block of manifests in a page.
var manifest = regexp.MustCompile("(?s)\n```yaml\n(.*?)```\n")

// paths are the paths of collections in shardNamespace, by kind.
var paths = map[string]string{
	"ServiceAccount": "/api/v1/namespaces/prod/serviceaccounts", "Deployment": "/apis/apps/v1/namespaces/prod/deployments",
	"Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/prod/roles", "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/prod/rolebindings",
}

// applyDocs creates what docs/sharding.md has in YAML, and a token of its service account, which
// may also use ConfigMaps. The server refuses unknown fields.
func (f *fleet) applyDocs(ctx context.Context) {
	f.t.Helper()
	page, err := os.ReadFile("../docs/sharding.md")
	must(f.t, err)
	admin := &oracle.Client{URL: f.c.URL(), HTTP: f.c.HTTPClient()}
	_, err = oracle.Create(ctx, admin, "/api/v1/namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shardNamespace}})
	must(f.t, err)
	created := map[string]bool{}
	for _, block := range manifest.FindAllStringSubmatch(string(page), -1) {
		for text := range strings.SplitSeq(block[1], "\n---\n") {
			var obj unstructured.Unstructured
			data, err := yaml.ToJSON([]byte(text))
			must(f.t, err)
			must(f.t, obj.UnmarshalJSON(data))
			if obj.GetNamespace() != shardNamespace || paths[obj.GetKind()] == "" {
				f.t.Errorf("the page has a %s in namespace %q", obj.GetKind(), obj.GetNamespace())
			}
			_, err = oracle.Create(ctx, admin, paths[obj.GetKind()]+"?fieldValidation=Strict", &obj)
			must(f.t, err)
			created[obj.GetKind()] = true
		}
	}
	if len(created) != len(paths) {
		f.t.Errorf("the page has only %v", created)
	}
	objects := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "watch", "patch"}}
	must(f.t, oracle.Allow(ctx, admin, metav1.ObjectMeta{Namespace: shardNamespace, Name: "website-controller-objects"}, "website-controller", objects))
	f.token, err = oracle.Token(ctx, admin, shardNamespace, "website-controller")
	must(f.t, err)
}

// turn is the time between two reconciles of an object.
func (f *fleet) turn() time.Duration {
	return max(time.Second, time.Duration(min(len(f.names), writtenObjects))*time.Second/writesPerSecond)
}

// start starts a replica.
func (f *fleet) start(identity string) {
	f.t.Helper()
	args, err := json.Marshal(replicaArgs{f.c.URL(), f.c.CAFile(), f.token, identity, f.lease, f.turn()})
	must(f.t, err)
	cmd := exec.Command(os.Args[0], "-test.run=^TestShardProcess$", "-test.timeout=2h")
	cmd.Env = append(os.Environ(), shardEnv+"="+string(args))
	in, err := cmd.StdinPipe()
	must(f.t, err)
	out, err := cmd.StdoutPipe()
	must(f.t, err)
	cmd.Stderr = cmd.Stdout
	must(f.t, cmd.Start())
	p := &replicaProcess{cmd, in, make(chan costs, 1), make(chan struct{})}
	f.all[identity] = p
	go func() {
		defer close(p.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			f.line(p, lines.Text())
		}
		_ = cmd.Wait()
	}()
}

// line takes a line that a replica has printed.
func (f *fleet) line(p *replicaProcess, text string) {
	if said, ok := strings.CutPrefix(text, reconciledLine); ok {
		var name, by, turn string
		var number int64
		if _, err := fmt.Sscan(said, &name, &number, &by, &turn); err == nil { // a process may be killed in the middle of a line
			f.note(name, number, by, by+turn)
		}
		return
	}
	if said, ok := strings.CutPrefix(text, costsLine); ok {
		var c costs
		if err := json.Unmarshal([]byte(said), &c); err != nil {
			f.t.Error(err)
		}
		p.costs <- c
		return
	}
	f.t.Log(time.Now().Format("05.000"), text)
}

// costs asks a replica for its costs.
func (f *fleet) costs(ctx context.Context, identity string) costs {
	f.t.Helper()
	p := f.all[identity]
	_, err := io.WriteString(p.stdin, "costs\n")
	must(f.t, err)
	select {
	case c := <-p.costs:
		return c
	case <-ctx.Done():
		f.t.Fatal(ctx.Err())
		return costs{}
	}
}

// signal sends a signal to a replica.
func (f *fleet) signal(identity string, s syscall.Signal) {
	f.t.Helper()
	f.t.Logf("%s %s: %v", time.Now().Format("05.000"), identity, s)
	must(f.t, f.all[identity].cmd.Process.Signal(s))
}

// end waits for the end of a replica.
func (f *fleet) end(identity string) {
	<-f.all[identity].ended
	delete(f.all, identity)
}

// observe follows the objects until ctx is done.
func (f *fleet) observe(ctx context.Context) {
	source, err := client.New(f.conn, core.ConfigMaps, client.Options{Namespace: shardNamespace, LabelSelector: "test=shards"})
	if err != nil {
		f.t.Error(err)
		return
	}
	for rv := ""; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if rv == "" { // at the start, and when a server that has started again does not know the version
			meta, err := source.List(ctx, metav1.ListOptions{}, func(ev reflector.Event[*corev1.ConfigMap], err error) bool {
				if err == nil {
					f.noteWrite(ev.Object)
				}
				return true
			})
			if err != nil {
				continue
			}
			rv = meta.ResourceVersion
		}
		for ev, err := range source.Watch(ctx, metav1.ListOptions{ResourceVersion: rv, AllowWatchBookmarks: true}) {
			if err != nil {
				if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
					rv = ""
				}
				break
			}
			rv = ev.ResourceVersion
			if ev.Object != nil {
				f.noteWrite(ev.Object)
			}
		}
	}
}

// noteWrite takes a state of an object.
func (f *fleet) noteWrite(obj *corev1.ConfigMap) {
	number, err := strconv.ParseInt(obj.Annotations[numberAnnotation], 10, 64)
	if err != nil {
		return // not written yet
	}
	by := obj.Annotations[byAnnotation]
	f.note(obj.Name, number, by, by+obj.Annotations[turnAnnotation])
}

// note takes a reconcile: a write that the server has, or what a replica says. A replica that was
// stopped may still say something later, which nothing can prevent. But it writes nothing.
func (f *fleet) note(name string, number int64, by, turn string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o, writes := f.seen[name], strings.HasPrefix(name, writtenPrefix)
	switch {
	case o == nil:
		f.seen[name] = &observed{number: number, by: by, turn: turn, at: time.Now()}
		return
	case o.turn == turn: // a list shows it again
		return
	case number < o.number && !writes:
		return
	}
	if number < o.number || number == o.number && by != o.by {
		f.t.Errorf("%s: %s works with number %d after %s with %d", name, by, number, o.by, o.number)
	}
	if writes {
		f.written++
	} else {
		f.told++
	}
	o.idle = max(o.idle, time.Since(o.at))
	o.number, o.by, o.turn, o.at = number, by, turn, time.Now()
}

// settled waits until the owner of each object, by the assignment, has worked on it after a time.
// It returns how long that took.
func (f *fleet) settled(ctx context.Context, since time.Time) time.Duration {
	f.t.Helper()
	err := eventually(ctx, func() bool {
		a, err := shard.Read(ctx, f.conn, shardNamespace, shardName)
		if err != nil || a.Check() != nil {
			return false
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, name := range f.names {
			o := f.seen[name]
			if o == nil || o.at.Before(since) || !strings.HasSuffix(o.by, "/"+ownerOf(a, name)) {
				return false
			}
		}
		return true
	})
	if err != nil {
		f.t.Fatalf("not every object was worked on: %v", err)
	}
	return time.Since(since)
}

// joined waits until a replica has a part of the objects.
func (f *fleet) joined(ctx context.Context, identity string) {
	f.t.Helper()
	must(f.t, eventually(ctx, func() bool {
		a, err := shard.Read(ctx, f.conn, shardNamespace, shardName)
		return err == nil && slices.ContainsFunc(a.Members, func(m shard.Member) bool { return m.Identity == identity && m.Share > 0 })
	}))
}

// idle returns the longest time that nobody worked on an object since the last call.
func (f *fleet) idle() (longest time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range f.seen {
		longest, o.idle = max(longest, o.idle), 0
	}
	return longest
}

// ownerOf returns the ID of the owner of an object.
func ownerOf(a *shard.Assignment, name string) string {
	hash := shard.Hash(shard.ByKey(types.NamespacedName{Namespace: shardNamespace, Name: name}))
	for _, r := range a.Ranges {
		if r.First <= hash && hash <= r.Last {
			return r.ID
		}
	}
	return ""
}
