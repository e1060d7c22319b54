package kubeconfig

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/kinform/kinform/client"
)

// Options select the cluster. The zero value selects the one that kubectl uses.
type Options struct {
	// Path is the path of a kubeconfig, as in kubectl --kubeconfig. Empty means the files of
	// KUBECONFIG, then ~/.kube/config, then the service account of a pod.
	Path string

	// Context is the name of a context of the kubeconfig. Empty means its current context.
	Context string

	// Impersonate makes requests as another user. The user of the context needs the right to
	// impersonate
	// (https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation).
	// It overrides the kubeconfig's own setting. The zero value changes nothing.
	Impersonate rest.ImpersonationConfig

	// PluginTimeout is the time that a request waits for a credential plugin before it fails
	// with a *[PluginError]. Zero means a minute; negative means no limit. The wait also ends
	// with the request's context.
	PluginTimeout time.Duration

	// OnError gets an error for each credential file that was usable before and is not usable
	// now; see client.ConnectionOptions.OnError. Nil logs the errors.
	OnError func(error)
}

// Cluster is the cluster that a kubeconfig describes.
type Cluster struct {
	// Connection connects to the API server. Give copies of it to all clients of the cluster,
	// since copies share the knowledge that the server is away.
	Connection client.Connection

	// Namespace is the namespace of the context. If that has none, or without a kubeconfig, it is
	// the pod's own in a pod, and otherwise "default". The package documentation says what counts as
	// a pod, and which namespace is its own.
	Namespace string

	// Context is the name of the context, empty for a service account.
	Context string
}

// Load finds the kubeconfig and makes a connection from it. It sends nothing and runs no
// plugin. Its error wraps [ErrNoConfig], or is a *[ContextError], or names the file or the
// context and the cause. It does not show the password of a URL.
func Load(opts Options) (Cluster, error) {
	c, err := find(opts, serviceAccountDir)
	if err != nil {
		return Cluster{}, fmt.Errorf("kubeconfig: %w", err)
	}
	return c, nil
}

// find is Load in a pod whose service account has its files in the folder account.
func find(opts Options, account string) (Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath, rules.Warner = opts.Path, func(error) {} // our error names the missing files
	config, err := rules.Load()
	if err != nil {
		return Cluster{}, err
	}
	if opts.Path == "" && api.IsConfigEmpty(config) {
		return inCluster(opts, rules, account)
	}
	name := cmp.Or(opts.Context, config.CurrentContext)
	one, ok := config.Contexts[name]
	if !ok {
		return Cluster{}, &ContextError{Context: name, Contexts: slices.Sorted(maps.Keys(config.Contexts)), Files: rules.GetLoadingPrecedence()}
	}
	chosen := clientcmd.NewNonInteractiveClientConfig(*config, name, &clientcmd.ConfigOverrides{}, rules)
	fail := func(err error) (Cluster, error) {
		return Cluster{}, fmt.Errorf("context %q: %w", name, withoutAddresses(err, config.Clusters[one.Cluster]))
	}
	// clientcmd would send requests without credentials.
	if _, ok := config.AuthInfos[one.AuthInfo]; !ok && one.AuthInfo != "" {
		return fail(fmt.Errorf("no user %q", one.AuthInfo))
	}
	namespace, _, err := chosen.Namespace()
	if err != nil {
		return fail(err)
	}
	rc, err := chosen.ClientConfig()
	if err != nil {
		return fail(err)
	}
	conn, err := connect(rc, opts)
	if err != nil {
		return fail(err)
	}
	if one.Namespace == "" && inPod(account) {
		if namespace, err = podNamespace(account); err != nil {
			return fail(err)
		}
	}
	return Cluster{Connection: conn, Namespace: namespace, Context: name}, nil
}

// withoutAddresses hides the addresses of a cluster in an error if they may have a password.
// clientcmd shows an address that does not parse.
func withoutAddresses(err error, cluster *api.Cluster) error {
	if cluster == nil {
		return err
	}
	text := err.Error()
	for _, address := range []string{cluster.Server, cluster.ProxyURL} {
		if strings.Contains(address, "@") {
			quoted := strconv.Quote(address)
			text = strings.NewReplacer(address, "hidden", quoted[1:len(quoted)-1], "hidden").Replace(text)
		}
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

// serviceAccountDir is the folder of a pod's service account.
const serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// inPod reports whether the process runs in a pod with a service account, by client-go's rule.
func inPod(account string) bool {
	if os.Getenv("KUBERNETES_SERVICE_HOST") == "" || os.Getenv("KUBERNETES_SERVICE_PORT") == "" {
		return false
	}
	info, err := os.Stat(filepath.Join(account, "token"))
	return err == nil && !info.IsDir()
}

// podNamespace returns the namespace of the pod, which the downward API may give in POD_NAMESPACE.
func podNamespace(account string) (string, error) {
	if namespace := os.Getenv("POD_NAMESPACE"); namespace != "" {
		return namespace, nil
	}
	namespace, err := os.ReadFile(filepath.Join(account, "namespace"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	return cmp.Or(strings.TrimSpace(string(namespace)), "default"), nil
}

// inCluster is find without a kubeconfig.
func inCluster(opts Options, rules *clientcmd.ClientConfigLoadingRules, account string) (Cluster, error) {
	if opts.Context != "" {
		return Cluster{}, &ContextError{Context: opts.Context, Files: rules.GetLoadingPrecedence()}
	}
	conn, err := client.InCluster(client.ConnectionOptions{
		CAFile: filepath.Join(account, "ca.crt"), TokenFile: filepath.Join(account, "token"), OnError: opts.OnError,
	})
	if errors.Is(err, client.ErrNotInCluster) {
		return Cluster{}, fmt.Errorf("%w in %s, and this is no pod: name one in $%s", ErrNoConfig, strings.Join(rules.GetLoadingPrecedence(), ", "), clientcmd.RecommendedConfigPathEnvVar)
	}
	if err != nil {
		return Cluster{}, err
	}
	impersonate(&conn, opts.Impersonate)
	namespace, err := podNamespace(account)
	if err != nil {
		return Cluster{}, err
	}
	return Cluster{Connection: conn, Namespace: namespace}, nil
}
