package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/examples/quickstart/internal/demo"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/faketest"
	"github.com/kinform/kinform/fake/faults"
)

// started is a controller that runs on a server in memory until the test ends.
type started struct {
	*summarizer
	t      *testing.T
	server *fake.Server

	mu     sync.Mutex
	errors []error
}

// start starts one. It must be called in a synctest bubble.
func start(t *testing.T, server *fake.Server) *started {
	t.Helper()
	s := &started{t: t, server: server}
	cl := &cluster{namespace: summaryNamespace}
	if err := cl.open(inMemory(server), inMemory(server)); err != nil {
		t.Fatal(err)
	}
	s.summarizer = newSummarizer(cl.forPods, cl.forSummaries, summaryNamespace, s.failed)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return s
}

func (s *started) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errors = append(s.errors, err)
}

// settle waits until nothing happens any more, retries included.
func (s *started) settle() {
	time.Sleep(time.Minute)
	synctest.Wait()
}

// check compares the summaries on the server with what is counted here anew.
func (s *started) check() {
	s.t.Helper()
	pods, err := fake.List[*corev1.Pod](s.server, fake.Selection{})
	if err != nil {
		s.t.Fatal(err)
	}
	if diff, err := faketest.Diff(s.server, fake.Selection{}, s.pods.AsInformer().Store().Values()); err != nil || diff != "" {
		s.t.Errorf("cache and server differ: %v\n%s", err, diff)
	}
	got := map[string]map[string]string{}
	for name, summary := range s.stored() {
		got[name] = maps.Clone(summary.Data)
	}
	if diff := cmp.Diff(counted(pods), got); diff != "" {
		s.t.Errorf("summaries (-want +got):\n%s", diff)
	}
}

// stored are the ConfigMaps on the server, by name.
func (s *started) stored() map[string]*corev1.ConfigMap {
	s.t.Helper()
	list, err := fake.List[*corev1.ConfigMap](s.server, fake.Selection{Namespace: summaryNamespace})
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[string]*corev1.ConfigMap{}
	for _, cm := range list {
		out[cm.Name] = cm
	}
	return out
}

// counted are the data of all summaries, made in another way than summarize does.
func counted(pods []*corev1.Pod) map[string]map[string]string {
	counts := map[string]map[string]int64{}
	for _, pod := range pods {
		node := summaryPrefix + pod.Spec.NodeName
		if node == summaryPrefix {
			continue
		}
		if counts[node] == nil {
			counts[node] = map[string]int64{}
		}
		counts[node]["pods"]++
		counts[node]["phase."+string(pod.Status.Phase)]++
		if p := pod.Status.Phase; p != "Succeeded" && p != "Failed" {
			counts[node]["cpu"] += pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
			counts[node]["memory"] += pod.Spec.Containers[0].Resources.Requests.Memory().Value()
		}
	}
	all := map[string]map[string]string{}
	for node, numbers := range counts {
		data := map[string]string{
			"cpu":    resource.NewMilliQuantity(numbers["cpu"], resource.DecimalSI).String(),
			"memory": resource.NewQuantity(numbers["memory"], resource.BinarySI).String(),
		}
		for name, n := range numbers {
			if name != "cpu" && name != "memory" {
				data[name] = strconv.FormatInt(n, 10)
			}
		}
		all[node] = data
	}
	return all
}

// TestControllerUnderChange lets a cluster live for a while, its disturbances included,
// with somebody else at the summaries too.
func TestControllerUnderChange(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, err := demo.NewServer()
				if err != nil {
					t.Fatal(err)
				}
				pods, err := demo.Populate(server, demo.Options{Pods: 200, Changes: 100, Seed: seed})
				if err != nil {
					t.Fatal(err)
				}
				s := start(t, server)
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				done := make(chan error, 1)
				go func() { done <- pods.Change(ctx) }()
				random := rand.New(rand.NewPCG(seed, 1))
				for ctx.Err() == nil {
					time.Sleep(200 * time.Millisecond)
					s.meddle(random)
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
				s.settle()
				s.check()
				if stats := s.pods.AsInformer().Stats(); stats.Lists < 3 {
					t.Errorf("%d lists: the cluster did not forget what a watch had missed", stats.Lists)
				}
			})
		})
	}
}

// meddle changes or deletes a summary, or puts one where there should be none.
func (s *started) meddle(random *rand.Rand) {
	s.t.Helper()
	node := fmt.Sprintf("node-%02d", 1+random.IntN(25)) // the last five have no pods
	key := s.summaryKey(node)
	summary, err := fake.Get[*corev1.ConfigMap](s.server, key)
	switch {
	case apierrors.IsNotFound(err):
		_, err = fake.Create(s.server, newSummary(key, map[string]string{"pods": "lost"}))
	case err == nil && random.IntN(2) == 0:
		_, err = fake.Delete[*corev1.ConfigMap](s.server, key)
	case err == nil:
		summary.Data["pods"] = "many"
		_, err = fake.Update(s.server, summary)
	}
	// The controller is at work at the same time.
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
		s.t.Error(err)
	}
}

func newTestPod(name, node string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
			Name: "main",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU:    resource.MustParse("250m"),
				corev1.ResourceMemory: resource.MustParse("64Mi"),
			}},
		}}},
		Status: corev1.PodStatus{Phase: phase},
	}
}

func mustCreate[T metav1.Object](t *testing.T, server *fake.Server, obj T) T {
	t.Helper()
	got, err := fake.Create(server, obj)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func mustUpdate[T metav1.Object](t *testing.T, server *fake.Server, obj T) T {
	t.Helper()
	got, err := fake.Update(server, obj)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestControllerStepByStep follows one node.
func TestControllerStepByStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := demo.NewServer()
		if err != nil {
			t.Fatal(err)
		}
		s := start(t, server)
		name := summaryPrefix + "n1"
		want := func(data map[string]string) {
			t.Helper()
			s.settle()
			s.check()
			got := map[string]string(nil)
			if cm := s.stored()[name]; cm != nil {
				got = cm.Data
			}
			if diff := cmp.Diff(data, got); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
		}
		want(nil)

		waiting := mustCreate(t, server, newTestPod("a", "", corev1.PodPending))
		want(nil)
		waiting.Spec.NodeName = "n1"
		waiting = mustUpdate(t, server, waiting)
		want(map[string]string{"pods": "1", "phase.Pending": "1", "cpu": "250m", "memory": "64Mi"})

		mustCreate(t, server, newTestPod("b", "n1", corev1.PodRunning))
		want(map[string]string{"pods": "2", "phase.Pending": "1", "phase.Running": "1", "cpu": "500m", "memory": "128Mi"})

		waiting.Status.Phase = corev1.PodFailed // and requests nothing any more
		waiting = mustUpdate(t, server, waiting)
		want(map[string]string{"pods": "2", "phase.Failed": "1", "phase.Running": "1", "cpu": "250m", "memory": "64Mi"})

		version := s.stored()[name].ResourceVersion
		waiting.Status.Message = "changes nothing that counts"
		mustUpdate(t, server, waiting)
		s.settle()
		if got := s.stored()[name].ResourceVersion; got != version {
			t.Errorf("the summary was written without need: version %s, then %s", version, got)
		}

		for _, pod := range []string{"a", "b"} {
			if _, err := fake.Delete[*corev1.Pod](server, kinform.Key{Namespace: "default", Name: pod}); err != nil {
				t.Fatal(err)
			}
		}
		want(nil)
		if len(s.errors) > 0 {
			t.Errorf("errors: %v", s.errors)
		}
	})
}

// TestControllerRetries refuses some writes of each kind.
func TestControllerRetries(t *testing.T) {
	refusal := faults.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden, 0)
	for _, verb := range []faults.Verb{faults.VerbCreate, faults.VerbPatch, faults.VerbDelete} {
		t.Run(string(verb), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, err := demo.NewServer()
				if err != nil {
					t.Fatal(err)
				}
				err = server.Inject(faults.Fault{Verb: verb, Resource: schema.GroupResource{Resource: "configmaps"}, Times: 5, Status: refusal})
				if err != nil {
					t.Fatal(err)
				}
				s := start(t, server)
				pod := mustCreate(t, server, newTestPod("a", "n1", corev1.PodPending))
				s.settle()
				s.check()
				pod.Status.Phase = corev1.PodRunning
				mustUpdate(t, server, pod)
				s.settle()
				s.check()
				if _, err := fake.Delete[*corev1.Pod](server, kinform.Key{Namespace: "default", Name: "a"}); err != nil {
					t.Fatal(err)
				}
				s.settle()
				s.check()
				if len(s.errors) != 5 {
					t.Errorf("%d errors, want 5", len(s.errors))
				}
				for _, err := range s.errors {
					if !apierrors.IsForbidden(err) || !strings.HasPrefix(err.Error(), string(verb)+" configmaps") {
						t.Errorf("error %v, want a refusal of %s", err, verb)
					}
				}
			})
		})
	}
}

// TestControllerLeavesOthersAlone: a ConfigMap of the same name without the label is
// somebody else's.
func TestControllerLeavesOthersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := demo.NewServer()
		if err != nil {
			t.Fatal(err)
		}
		s := start(t, server)
		theirs := newSummary(s.summaryKey("n1"), map[string]string{"precious": "data"})
		theirs.Labels = nil
		theirs = mustCreate(t, server, theirs)
		mustCreate(t, server, newTestPod("a", "n1", corev1.PodRunning))
		s.settle()
		got := s.stored()[theirs.Name]
		if diff := cmp.Diff(theirs, got); diff != "" {
			t.Errorf("the ConfigMap was touched (-before +after):\n%s", diff)
		}
		if len(s.errors) == 0 {
			t.Error("nobody was told")
		}
		for _, err := range s.errors {
			if !errors.Is(err, errForeign) {
				t.Errorf("error %v, want errForeign", err)
			}
		}
	})
}
