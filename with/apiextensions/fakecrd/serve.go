package fakecrd

import (
	"reflect"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/with/apiextensions"
)

type definition = apiextensionsv1.CustomResourceDefinition

// Serve registers CustomResourceDefinitions with server. From then on, the server serves the kinds
// that they define. It starts no goroutine. Error: fake.ErrInvalid if they are registered
// already.
func Serve(server *fake.Server) error {
	converters, err := conversion.NewCRConverterFactory(webhook.NewDefaultServiceResolver(), nil)
	if err != nil {
		return err
	}
	c := &controller{server: server, converters: converters, serving: map[string]serving{}}
	rules := fake.Rules{OpenAPI: definitionOpenAPI}
	if err := fake.Register(server, apiextensions.CustomResourceDefinitions, rules); err != nil {
		return err
	}
	return fake.Define(server, fake.Definition[*definition]{Kind: apiextensions.CustomResourceDefinitions, Rules: rules, Hooks: fake.Hooks[*definition]{
		Default:        setDefaults,
		Validate:       validate,
		ValidateStatus: validateStatus,
		Warn:           warnOfSchemas,
		Deleting:       func(*definition) []string { return []string{apiextensionsv1.CustomResourceCleanupFinalizer} },
		Stored:         c.work,
	}})
}

// controller makes the server serve the kinds of the definitions, in the goroutine of a write.
type controller struct {
	server     *fake.Server
	converters *conversion.CRConverterFactory

	mu    sync.Mutex
	busy  bool // a goroutine works
	again bool // a write came since that goroutine began to look

	// serving holds the kinds that the server serves, by the name of the definition. It belongs to
	// the goroutine that works.
	serving map[string]serving
}

// serving is a definition in the form in which the server has it.
type serving struct {
	uid   types.UID
	spec  apiextensionsv1.CustomResourceDefinitionSpec
	names apiextensionsv1.CustomResourceDefinitionNames
}

// work looks at all definitions until nothing is left to do, unless another goroutine does that:
// this one then only notes that there is more. It is called for the writes that it makes itself.
func (c *controller) work() {
	c.mu.Lock()
	c.again = true
	if c.busy {
		c.mu.Unlock()
		return
	}
	c.busy = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.busy = false // even after a panic
	}()
	for c.next() {
		c.pass()
	}
}

// next reports whether another look is due.
func (c *controller) next() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	again := c.again
	c.again = false
	c.busy = again
	return again
}

// pass looks at all definitions once.
func (c *controller) pass() {
	all, err := fake.List[*definition](c.server, fake.Selection{ReadOnly: true})
	if err != nil {
		return // they are registered no more
	}
	for i, d := range all {
		own := *d // the rest is large, and stays the server's
		own.Status = *d.Status.DeepCopy()
		all[i] = &own
	}
	for name, now := range c.serving {
		if !slices.ContainsFunc(all, func(d *definition) bool { return d.Name == name && d.UID == now.uid }) {
			c.end(name)
		}
	}
	for _, d := range all {
		if d.DeletionTimestamp != nil {
			c.finish(d)
		} else {
			c.serve(d, all)
		}
	}
}

// serve makes the server serve d, and sets the conditions of d.
func (c *controller) serve(d *definition, all []*definition) {
	was := d.Status.DeepCopy()
	reason, message := takeNames(d, all)
	if reason == "" || apihelpers.IsCRDConditionTrue(d, apiextensionsv1.Established) {
		if err := c.define(d); err != nil {
			reason, message = "NotServed", err.Error()
		}
	}
	// Each condition is set once, because the time of a change is part of it.
	setNamesAccepted(d, reason, message)
	setEstablished(d, reason == "")
	if !reflect.DeepEqual(was, &d.Status) {
		// A write that came first makes another look due.
		_, _ = fake.UpdateStatus(c.server, d)
	}
}

// define gives d to the server, unless the server has the same definition already.
func (c *controller) define(d *definition) error {
	now := serving{d.UID, d.Spec, d.Status.AcceptedNames} // which nobody changes any more
	if reflect.DeepEqual(now, c.serving[d.Name]) {
		c.serving[d.Name] = now // the same in less memory: the server has it as well
		return nil
	}
	versions, err := definitionsOf(d, c.converters, c.work)
	if err != nil {
		return err
	}
	more := make([]fake.Version, 0, len(versions))
	for _, v := range versions[1:] {
		more = append(more, v)
	}
	if err := fake.Define(c.server, versions[0], more...); err != nil {
		return err
	}
	c.serving[d.Name] = now
	return nil
}

// finish deletes the objects of d, which is being deleted, and then what holds d itself.
func (c *controller) finish(d *definition) {
	was := d.DeepCopy()
	_, served := c.serving[d.Name]
	left, reason := 0, "NeverEstablished"
	if served {
		left, reason = c.deleteObjects(resourceOf(d)), "InstanceDeletionCompleted"
	}
	terminate(d, left, reason)
	if left == 0 {
		c.end(d.Name)
		d.Finalizers = slices.DeleteFunc(slices.Clone(d.Finalizers), func(f string) bool { return f == apiextensionsv1.CustomResourceCleanupFinalizer })
	}
	if !reflect.DeepEqual(was, d) {
		_, _ = fake.UpdateStatus(c.server, d) // as in serve
	}
}

// deleteObjects deletes the objects of a resource, and returns the number of those that finalizers
// hold.
func (c *controller) deleteObjects(name schema.GroupResource) int {
	at := c.server.Resource(name)
	objects, err := fake.List[*unstructured.Unstructured](at, fake.Selection{})
	if err != nil {
		return 0 // the test has ended it
	}
	for _, o := range objects {
		if o.GetDeletionTimestamp() == nil {
			// One that is gone already is fine.
			_, _ = fake.Delete[*unstructured.Unstructured](at, types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()})
		}
	}
	objects, _ = fake.List[*unstructured.Unstructured](at, fake.Selection{ReadOnly: true})
	return len(objects)
}

// end makes the server end the resource of a definition.
func (c *controller) end(name string) {
	if now, ok := c.serving[name]; ok {
		// The test may have ended it.
		_ = c.server.Unregister(schema.GroupResource{Group: now.spec.Group, Resource: now.names.Plural})
		delete(c.serving, name)
	}
}

func resourceOf(d *definition) schema.GroupResource {
	return schema.GroupResource{Group: d.Spec.Group, Resource: d.Status.AcceptedNames.Plural}
}
