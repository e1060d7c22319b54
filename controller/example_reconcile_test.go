package controller_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/fake"
)

// bluePaint makes an object blue. It needs a client only, so a test can hand in anything that sends.
func bluePaint[T controller.Object[T]](ctx context.Context, c controller.Client[T], obj T, paint func(T) error) string {
	_, outcome, err := controller.CreateOrUpdate(ctx, c, obj, paint)
	if err != nil {
		return err.Error()
	}
	return inWords(outcome)
}

// inWords is an outcome in words.
func inWords(outcome controller.Outcome) string {
	switch outcome {
	case controller.Created:
		return "made"
	case controller.Updated:
		return "painted"
	}
	return "was blue" // controller.Unchanged
}

// cached returns the number of objects that a handle has.
func cached[T metav1.Object](of *controller.Handle[T]) int {
	var stats controller.Stats = of.Stats()
	return stats.Cache.Objects
}

// The outcome says what was sent. A handle is a client.
func ExampleCreateOrUpdate() {
	server := fake.New(fake.Options{})
	fake.Register(server, siteKinds, fake.Rules{})
	sites := controller.Open(client.Connection{URL: fake.URL, HTTP: server.Client()}, siteKinds)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- sites.Run(ctx) }()
	if err := sites.WaitForSync(ctx); err != nil {
		fmt.Println(err)
	}

	paint := func(s *site) error { metav1.SetMetaDataLabel(&s.ObjectMeta, "paint", "blue"); return nil }
	one := &site{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "one"}}
	fmt.Println(bluePaint[*site](ctx, sites, one, paint))
	fmt.Println(bluePaint[*site](ctx, sites, one, paint))
	fmt.Println("cached:", cached(sites))
	cancel()
	fmt.Println(<-ended)
	// Output:
	// made
	// was blue
	// cached: 1
	// <nil>
}

// why says why a key is reconciled.
func why(causes controller.Causes) string {
	var all []string
	for _, cause := range causes.Newest {
		all = append(all, causeText(cause))
	}
	if more := causes.Adds - len(all); more > 0 {
		all = append(all, fmt.Sprint(more, " more"))
	}
	return strings.Join(all, ", ")
}

// causeText is a cause with the fields that changed.
func causeText(cause controller.Cause) string {
	return strings.Join(append([]string{cause.String()}, cause.Changed()...), " ")
}

// line is a line of a page for a reconcile that has ended.
func line(run controller.Traced) string { return fmt.Sprint("ended with: ", run.Err) }

// Reconcile can say why it runs, and a page what ran.
func ExampleCausesOf() {
	c := controller.New("painter", func(ctx context.Context, k key) error {
		fmt.Println(k, "because:", why(controller.CausesOf(ctx)))
		return controller.Terminal(errors.New("no paint"))
	}, controller.Options[key]{Logger: slog.New(slog.DiscardHandler)})
	c.Trace(10)
	c.Queue().Add(key{Namespace: "a", Name: "one"})
	c.Queue().ShutDown()
	fmt.Println(c.Run(context.Background()))
	for _, run := range c.Traced("a/one") {
		fmt.Println(line(run))
	}
	fmt.Println("in a loop:", slices.ContainsFunc(c.Loops(), func(l controller.Loop) bool { return l.Key == "a/one" }))
	// Output:
	// a/one because: added by hand
	// <nil>
	// ended with: terminal: no paint
	// in a loop: false
}

// The mistakes and ends that Run and its watches tell.
func ExampleController_Run() {
	none := controller.New[key]("none", nil)
	err := none.Run(context.Background())
	fmt.Println(errors.Is(err, controller.ErrInvalid))
	var late *controller.SyncError // after Options.SyncTimeout
	fmt.Println(errors.As(err, &late))
	// Output:
	// true
	// false
}

// Adopt takes over an object that nobody controls, and neither function takes what is somebody else's.
func ExampleAdopt() {
	owner := &site{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "blue", UID: "1"}}
	found := &gadget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "one", UID: "2"}}
	var owned *controller.OwnedError
	if err := controller.SetController(found, owner, siteKinds); errors.As(err, &owned) {
		fmt.Printf("exists: %s controlled by: %q\n", owned.Object, owned.Controller.Name)
	}
	fmt.Println(controller.Adopt(found, owner, siteKinds))
	fmt.Println(found.OwnerReferences[0].Name)
	// Output:
	// exists: a/one controlled by: ""
	// <nil>
	// blue
}
