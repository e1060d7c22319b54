package kinform_test

import (
	"context"
	"fmt"
	"testing"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/informer"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/reflector"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Lamp is a custom resource.
type Lamp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Room              string `json:"room"`
}

// lamps is where the short names are for: fields and parameters.
type lamps struct {
	cache  *kinform.Informer[*Lamp]
	byRoom informer.Index[kinform.Key, *Lamp, string]
}

func newLamps(source reflector.Source[*Lamp]) (lamps, error) {
	cache, err := kinform.NewInformer(source, informer.Options[*Lamp]{})
	byRoom := kinform.Index(cache, "room", func(lamp *Lamp) string { return lamp.Room })
	return lamps{cache, byRoom}, err
}

func (l lamps) in(room string) int { return l.byRoom.Count(room) }

// Types that name only the object have a namespace and a name as their key.
func Example() {
	server := fake.New(fake.Options{})
	if err := fake.Register(server, kind.Of[*Lamp](schema.GroupVersion{Version: "v1"}, "lamps"), fake.Rules{}); err != nil {
		panic(err)
	}
	source, err := fake.NewSource[*Lamp](server, fake.Selection{})
	if err != nil {
		panic(err)
	}
	l, err := newLamps(source)
	if err != nil {
		panic(err)
	}
	added := make(chan kinform.Key)
	l.cache.AddHandler(kinform.HandlerFuncs[*Lamp]{
		Added: func(ev kinform.Event[*Lamp]) { added <- ev.Key },
	}, kinform.HandlerOptions[*Lamp]{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.cache.Run(ctx) }()

	fake.Create(server, &Lamp{ObjectMeta: metav1.ObjectMeta{Namespace: "home", Name: "desk"}, Room: "study"})
	fmt.Println("added", <-added)
	fmt.Println("in the study:", l.in("study"))
	cancel()
	fmt.Println("ended:", <-ended)
	// Output:
	// added home/desk
	// in the study: 1
	// ended: <nil>
}
