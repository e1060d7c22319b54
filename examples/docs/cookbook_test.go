package docs_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/controller/events"
	"github.com/kinform/kinform/controller/manager"
	"github.com/kinform/kinform/examples/website"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/shard/leader"
	"github.com/kinform/kinform/store"
	"github.com/kinform/kinform/with/kubeconfig"
	"github.com/kinform/kinform/with/kubernetes/apps"
	"github.com/kinform/kinform/with/kubernetes/core"
)

// What the recipes have around them.
var (
	ctx        context.Context
	server     client.Connection
	key        kinform.Key
	c          *controller.Controller[kinform.Key]
	site       *website.Website
	sites      *kinform.Handle[*website.Website]
	pods       *kinform.Handle[*corev1.Pod]
	secrets    *kinform.Handle[*corev1.Secret]
	configMaps *kinform.Handle[*corev1.ConfigMap]
	checkQuota func(context.Context, *website.Website) error
	removeDNS  func(context.Context, *website.Website) error
	reconcile  func(context.Context, kinform.Key) error
	m          *manager.Manager
	err        error
)

func Example_createOrUpdate() {
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Name}}
	config, outcome, err := controller.CreateOrUpdate(ctx, configMaps, config, func(config *corev1.ConfigMap) error {
		if err := controller.SetController(config, site, website.Websites); err != nil {
			return err // somebody else's
		}
		config.Data = map[string]string{"host": site.Spec.Host}
		return nil
	})
	fmt.Println(config.Name, outcome, err) // outcome is Created, Updated or Unchanged
}

func Example_delete() {
	if old, ok := configMaps.Cached(key); ok {
		err = controller.Delete(ctx, configMaps, old, metav1.DeleteOptions{}) // nil if it is gone already
	}
}

func Example_apply() {
	config := map[string]any{
		"metadata": map[string]any{"name": site.Name, "namespace": site.Namespace},
		"data":     map[string]any{"host": site.Spec.Host},
	}
	current, _ := configMaps.Cached(key) // nil if there is none
	_, sent, err := controller.Apply(ctx, configMaps, current, config, "website-controller")
	fmt.Println(sent, err)
}

func Example_finalize() {
	reconcile = func(ctx context.Context, key kinform.Key) error {
		site, ok := sites.Cached(key)
		if !ok {
			return nil
		}
		site, done, err := controller.Finalize(ctx, sites, site, "example.com/dns", removeDNS)
		if done || err != nil {
			return err
		}
		fmt.Println("from here on the finalizer is there:", site.Finalizers)
		return nil
	}
}

func Example_status() {
	site, err = controller.PatchStatus(ctx, sites, site, func(s *website.Website) {
		controller.SetCondition(&s.Status.Conditions, site.Generation, metav1.Condition{
			Type: "Ready", Status: metav1.ConditionTrue, Reason: "Available",
		})
	})
}

func Example_again() {
	reconcile = func(ctx context.Context, key kinform.Key) error {
		site, ok := sites.Cached(key)
		if !ok {
			return nil
		}
		if site.Spec.Host == "" {
			return controller.Terminal(errors.New("spec.host is empty")) // until somebody changes it
		}
		if err := checkQuota(ctx, site); err != nil {
			if c.Queue().Retries(key) >= 10 {
				return controller.Terminal(err)
			}
			return err // again, with growing delays
		}
		return controller.Again(10 * time.Minute) // no failure
	}
}

func Example_references() {
	// the Secret that an annotation of a website names
	bySecret := kinform.Index(sites, "secret", func(site *website.Website) kinform.Key {
		return kinform.Key{Namespace: site.Namespace, Name: site.Annotations["example.com/secret"]}
	})
	controller.For(c, sites)
	controller.References(c, secrets, bySecret)
}

func Example_manyReferences() {
	byConfig := informer.AddIndex(sites, index.New("config", func(keys []kinform.Key, site *website.Website) []kinform.Key {
		for _, name := range strings.Fields(site.Annotations["example.com/configs"]) {
			keys = append(keys, kinform.Key{Namespace: site.Namespace, Name: name})
		}
		return keys
	}))
	controller.References(c, configMaps, byConfig)
}

func Example_filters() {
	controller.For(c, sites, controller.GenerationChanged) // no changes of the status

	siteOf := func(keys []kinform.Key, pod *corev1.Pod) []kinform.Key {
		return append(keys, kinform.Key{Namespace: pod.Namespace, Name: pod.Labels["website"]})
	}
	controller.Watch(c, pods, siteOf, func(ev kinform.Event[*corev1.Pod]) bool {
		return ev.Type != informer.Updated || ev.Old.Status.Phase != ev.Object.Status.Phase
	})
}

func Example_ownEvents() {
	c = controller.New("websites", reconcile, controller.Options[kinform.Key]{OwnEvents: true})
}

func Example_namespaces() {
	allowed := informer.NewNamespaces("shop", "blog")
	pods = kinform.Open(server, core.Pods, controller.OpenOptions[*corev1.Pod]{Namespaces: allowed})

	err = allowed.Add("news") // also while the handle is in use
	allowed.Remove("blog")
}

func Example_metadata() {
	secrets := kinform.Open(server, kind.As[*metav1.PartialObjectMetadata](core.Secrets),
		controller.OpenOptions[*metav1.PartialObjectMetadata]{Client: client.Options{DropManagedFields: true}})

	_, err := secrets.Patch(ctx, key, types.MergePatchType, []byte(`{"metadata":{"labels":{"seen":"yes"}}}`), metav1.PatchOptions{})
	fmt.Println(err)
}

func Example_unstructured() {
	gvr := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "websites"} // from a flag
	objects := kinform.Open(server, kind.OfResource[*unstructured.Unstructured](gvr))
	controller.For(c, objects)
}

func Example_waitFor() {
	until, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err = pods.AsInformer().WaitFor(until, key, func(pod *corev1.Pod, exists bool) bool {
		return !exists || pod.Status.Phase == corev1.PodSucceeded
	})
}

func Example_manager() {
	cluster, err := kubeconfig.Load(kubeconfig.Options{})
	if err != nil {
		log.Fatal(err)
	}
	elector := leader.New(cluster.Connection, leader.Options{Namespace: cluster.Namespace, Name: "websites.example.com"})
	sites := kinform.Open(elector.Gate(cluster.Connection), website.Websites) // only the leader writes
	c := controller.New("websites", reconcile)
	controller.For(c, sites)

	m := manager.New(manager.Options{Elector: elector})
	m.AddControllers(c)
	http.Handle("/healthz", m.Healthz())
	http.Handle("/readyz", m.Readyz())
	go func() { log.Fatal(http.ListenAndServe(":8081", nil)) }()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := m.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

func Example_lateWatch() {
	extra := kinform.Open(server, core.ConfigMaps)
	controller.For(c, extra)           // while c runs: it runs the informer
	err = controller.Unwatch(c, extra) // and stops it
}

func Example_tick() {
	c.Queue().Add(key)                         // now
	c.Queue().AddAfter(key, 30*time.Second)    // later
	for _, site := range sites.List("", nil) { // all
		c.Queue().Add(kinform.Key{Namespace: site.Namespace, Name: site.Name})
	}
}

func Example_events() {
	recorder := events.New(server, events.Options{Controller: "websites.example.com"})
	reporter := events.For(recorder, website.Websites)
	reconcile = func(ctx context.Context, key kinform.Key) error {
		site, ok := sites.Cached(key)
		if ok && site.Spec.Host == "" {
			reporter.Warning(site, "NoHost", "UpdateDNS", "spec.host is empty")
		}
		return nil
	}
	m.AddToAll("events", recorder) // it ends after the controllers, and writes their last events
}

func Example_scale() {
	scales, err := client.New(server, kind.As[*autoscalingv1.Scale](apps.Deployments), client.Options{})
	if err == nil {
		_, err = scales.Subresource("scale").Patch(ctx, key, types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{})
	}
	fmt.Println(err)
}

func Example_copy() {
	cached, ok := pods.Cached(key)
	if !ok {
		return
	}
	pod := cached.DeepCopy() // cached objects are shared, and read-only
	metav1.SetMetaDataLabel(&pod.ObjectMeta, "seen", "yes")
	pod, err = pods.Update(ctx, pod, metav1.UpdateOptions{})
}

func Example_mutations() {
	pods = kinform.Open(server, core.Pods, controller.OpenOptions[*corev1.Pod]{
		Informer: informer.Options[*corev1.Pod]{Mutations: informer.MutationsAll}, // in tests
	})
}

func Example_memory() {
	pods = kinform.Open(server, core.Pods, controller.OpenOptions[*corev1.Pod]{
		Client: client.Options{DropManagedFields: true},
	})
}

func Example_informer() {
	source, err := client.New(server, core.Pods, client.Options{Namespace: "prod"})
	if err != nil {
		log.Fatal(err)
	}
	pods, err := informer.New(source, store.ObjectKey, informer.Options[*corev1.Pod]{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = pods.AddHandler(kinform.HandlerFuncs[*corev1.Pod]{
		Added:   func(ev kinform.Event[*corev1.Pod]) { fmt.Println(ev.Key, "was added") },
		Updated: func(ev kinform.Event[*corev1.Pod]) { fmt.Println(ev.Key, "has", ev.Object.Status.Phase) },
		Deleted: func(ev kinform.Event[*corev1.Pod]) { fmt.Println(ev.Key, "is gone") },
	}, kinform.HandlerOptions[*corev1.Pod]{})
	if err != nil {
		log.Fatal(err)
	}
	if err := pods.Run(ctx); err != nil { // until ctx is done
		log.Fatal(err)
	}
}
