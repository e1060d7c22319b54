package ops

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
)

func startWireClientGo(s *server, accept string, n int) (func(), error) {
	return startPods(s, accept, n, nil)
}

// startStrippedClientGo is startWireClientGo with a transform that drops managedFields, as programs
// with large caches set it.
func startStrippedClientGo(s *server, accept string, n int) (func(), error) {
	return startPods(s, accept, n, ctrlcache.TransformStripManagedFields())
}

// startProjectedClientGo is startWireClientGo with a transform to a small struct. It keeps the metadata without which
// client-go's informer cannot store an object.
func startProjectedClientGo(s *server, accept string, n int) (func(), error) {
	type summary struct {
		metav1.ObjectMeta
		node  string
		phase corev1.PodPhase
	}
	return startPods(s, accept, n, func(obj any) (any, error) {
		p, ok := obj.(*corev1.Pod)
		if !ok {
			return obj, nil // client-go transforms the objects of a streaming list twice
		}
		name := metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, ResourceVersion: p.ResourceVersion}
		return &summary{name, p.Spec.NodeName, p.Status.Phase}, nil
	})
}

// startPods starts client-go's informer of pods. A transform of nil leaves the objects as they are.
func startPods(s *server, accept string, n int, transform cache.TransformFunc) (func(), error) {
	inf, h, err := podInformer(s, accept)
	if err != nil {
		return nil, err
	}
	if err := inf.SetTransform(transform); err != nil {
		return nil, err
	}
	return countPeer(inf, n, h.CloseIdleConnections)
}

// startMetadataClientGo starts client-go's informer of metadata, without managedFields.
func startMetadataClientGo(s *server, _ string, n int) (func(), error) {
	h := newTransport()
	c, err := metadata.NewForConfigAndClient(metadata.ConfigFor(&rest.Config{Host: s.URL, QPS: -1}), h)
	if err != nil {
		return nil, err
	}
	inf := metadatainformer.NewSharedInformerFactory(c, 0).ForResource(corev1.SchemeGroupVersion.WithResource("pods")).Informer()
	if err := inf.SetTransform(ctrlcache.TransformStripManagedFields()); err != nil {
		return nil, err
	}
	return countPeer(inf, n, h.CloseIdleConnections)
}

// podInformer returns the informer of pods that client-go's factory makes, and the client that it
// sends requests by. Package informers itself would have the aliases of all kinds compiled here.
func podInformer(s *server, accept string) (cache.SharedIndexInformer, *http.Client, error) {
	h := newTransport()
	config := &rest.Config{Host: s.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: accept, AcceptContentTypes: accept}}
	clients, err := kubernetes.NewForConfigAndClient(config, h)
	if err != nil {
		return nil, nil, err
	}
	byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	return coreinformers.NewPodInformer(clients, corev1.NamespaceAll, 0, byNamespace), h, nil
}

// runClientGo runs client-go's informer of pods, and returns when its handler has got the list.
func runClientGo(s *server, accept string, handle cache.ResourceEventHandler) (stop func(), err error) {
	inf, h, err := podInformer(s, accept)
	if err != nil {
		return nil, err
	}
	return runPeer(inf, handle, h.CloseIdleConnections)
}

// countPeer is runPeer for a handler that must get n objects.
func countPeer(inf cache.SharedIndexInformer, n int, finish func()) (stop func(), err error) {
	seen := 0
	stop, err = runPeer(inf, cache.ResourceEventHandlerFuncs{AddFunc: func(any) { seen++ }}, finish)
	if err == nil && seen != n {
		stop()
		return nil, fmt.Errorf("client-go's handler has seen %d objects of %d", seen, n)
	}
	return stop, err
}

// runPeer runs an informer of client-go, and returns when its handler has got the list. stop ends
// it, and calls finish then.
func runPeer(inf cache.SharedIndexInformer, handle cache.ResourceEventHandler, finish func()) (stop func(), err error) {
	reg, err := inf.AddEventHandler(handle)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); inf.RunWithContext(ctx) }()
	stop = func() {
		cancel()
		<-ended
		finish()
	}
	select {
	case <-reg.HasSyncedChecker().Done():
		return stop, nil
	case <-time.After(time.Minute):
		stop()
		return nil, errors.New("client-go has not synced within a minute")
	}
}
