package reflector

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// listCall is a call of the source's List.
type listCall struct {
	guard
	attempt *Attempt
	dog     *watchdog

	page    metav1.ListMeta
	err     error
	sinkErr error // why the sink refused an object
}

// stop ends a call even when the source or the sink panics.
func (c *listCall) stop() {
	c.dog.stop()
	c.attempt.end()
}
