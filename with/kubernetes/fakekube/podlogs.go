package fakekube

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// podLog returns the log of a container, which is empty because nothing runs it. An API server
// answers the same for a pod without a node. Options that choose a part of a log are not checked.
func podLog(_ context.Context, p *corev1.Pod, query url.Values) (string, error) {
	var names, all []string
	for _, c := range p.Spec.Containers {
		names = append(names, c.Name)
	}
	all = append(all, names...)
	for _, c := range p.Spec.InitContainers {
		all = append(all, c.Name)
	}
	for _, c := range p.Spec.EphemeralContainers {
		all = append(all, c.Name)
	}
	switch name := query.Get("container"); {
	case name == "" && len(names) > 1:
		return "", apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s, choose one of: [%s]", p.Name, strings.Join(names, " ")))
	case name != "" && !slices.Contains(all, name):
		return "", apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, p.Name))
	}
	return "", nil
}
