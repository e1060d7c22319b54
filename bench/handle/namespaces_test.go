package handle

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/internal/memtest"
	"github.com/kinform/kinform/kind"
)

// Pods of a set of namespaces, in one cache.
const namespaces, podsOfEach = 200, 20

func nameOf(n int) string { return fmt.Sprint("namespace-", n) }

// servePods answers lists of the pods of one namespace, and watches that bring nothing.
func servePods(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("watch") != "" {
		if r.URL.Query().Get("sendInitialEvents") != "" {
			http.Error(w, "no streaming lists", http.StatusUnprocessableEntity)
			return
		}
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	}
	namespace := strings.Split(r.URL.Path, "/")[4]
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{ResourceVersion: "1000"}}
	for n := range podsOfEach {
		name := fmt.Sprint("pod-", n)
		list.Items = append(list.Items, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: fmt.Sprint(n + 1), UID: "u", Labels: map[string]string{"app": name}},
			Spec:       corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "c", Image: "image"}}},
		})
	}
	_ = json.NewEncoder(w).Encode(list)
}

// openKinform returns a handle over the namespaces, which has synced.
func openKinform(ctx context.Context, b *testing.B, server *httptest.Server, h *http.Client) (length func() int, ended <-chan error) {
	set := informer.NewNamespaces()
	for n := range namespaces {
		must(b, set.Add(nameOf(n)))
	}
	pods := controller.Open(client.Connection{URL: server.URL, HTTP: h}, kind.Of[*corev1.Pod](corev1.SchemeGroupVersion, "pods"), controller.OpenOptions[*corev1.Pod]{
		Namespaces: set,
	})
	done := make(chan error, 1)
	go func() { done <- pods.Run(ctx) }()
	must(b, pods.WaitForSync(ctx))
	return pods.AsInformer().Store().Len, done
}

// openPeer returns controller-runtime's cache of the same.
func openPeer(ctx context.Context, b *testing.B, server *httptest.Server, h *http.Client) (length func() int, ended <-chan error) {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion})
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("PodList"), meta.RESTScopeNamespace)
	of := map[string]cache.Config{}
	for n := range namespaces {
		of[nameOf(n)] = cache.Config{}
	}
	config := &rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	c, err := cache.New(config, cache.Options{HTTPClient: h, Mapper: mapper, Scheme: scheme.Scheme, DefaultNamespaces: of})
	must(b, err)
	_, err = c.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	must(b, err)
	done := make(chan error, 1)
	go func() { done <- c.Start(ctx) }()
	if !c.WaitForCacheSync(ctx) {
		b.Fatal("not synced")
	}
	return func() int {
		var list corev1.PodList
		must(b, c.List(ctx, &list))
		return len(list.Items)
	}, done
}

// BenchmarkNamespaces syncs a cache of 200 namespaces beside controller-runtime, and says what it keeps in memory.
func BenchmarkNamespaces(b *testing.B) {
	log.SetLogger(logr.Discard())
	for name, open := range map[string]func(context.Context, *testing.B, *httptest.Server, *http.Client) (func() int, <-chan error){
		"of=kinform": openKinform, "of=controller-runtime": openPeer,
	} {
		b.Run(name, func(b *testing.B) {
			server := httptest.NewServer(http.HandlerFunc(servePods))
			defer server.Close()
			defer server.CloseClientConnections()
			for b.Loop() {
				b.StopTimer()
				h := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: namespaces}}
				ctx, cancel := context.WithCancel(b.Context())
				before := memtest.Heap()
				b.StartTimer()
				length, ended := open(ctx, b, server, h)
				b.StopTimer()
				kept, routines := memtest.Heap()-before, runtime.NumGoroutine()
				if n := length(); n != namespaces*podsOfEach {
					b.Fatalf("%d pods", n)
				}
				b.ReportMetric(float64(kept)/namespaces, "B/namespace")
				b.ReportMetric(float64(routines)/namespaces, "goroutines/namespace")
				cancel()
				<-ended
				h.CloseIdleConnections()
				b.StartTimer()
			}
		})
	}
}
