// Package planted has small programs for the tests of package sim: controllers with one bug each, and some without any.
//
// Each bug has the mechanism of one that was reported in public; none of the code is of those projects. Without faults,
// all programs do what they should. One or two faults show the bug.
package planted

import "github.com/kinform/kinform/fake/sim"

// Case is a program with its name.
type Case struct {
	Name    string
	Program func() sim.Program
}

// Bug is a program with a bug.
type Bug struct {
	Case
	// Pattern is the kind of the bug. The first three are those of Sieve (OSDI '22).
	Pattern Pattern
	// Source is a public report of a bug with the same mechanism.
	Source string
}

// Pattern is a kind of bugs.
type Pattern string

const (
	Intermediate Pattern = "intermediate state" // a crash between two writes, or a lost answer
	Stale        Pattern = "stale state"        // a restart on an API server that is behind
	Unobserved   Pattern = "unobserved state"   // a state that no watch showed
	Loop         Pattern = "loop"               // writes without end
	Order        Pattern = "wrong order"        // two steps that the users come between
	Swallowed    Pattern = "swallowed error"    // an error that nobody acts on
	Unfenced     Pattern = "unfenced writer"    // a replica that does not lead any more
)

// Bugs returns the programs with bugs.
func Bugs() []Bug {
	return []Bug{
		{Case{"half a resize", HalfResize}, Intermediate, "https://github.com/rabbitmq/cluster-operator/issues/782"},
		{Case{"a generated name", GeneratedName}, Intermediate, "https://github.com/tektoncd/pipeline/issues/3126"},
		{Case{"a name by a counter", CounterName}, Intermediate, "https://github.com/kubernetes/kubernetes/issues/56355"},
		{Case{"a forgotten owner", ForgottenOwner}, Intermediate, "https://github.com/aquasecurity/trivy-operator/issues/1855"},
		{Case{"not found means done", NotFoundMeansDone}, Intermediate, "https://github.com/rancher/fleet/pull/5585"},
		{Case{"state in memory", StateInMemory}, Intermediate, "https://github.com/sustainable-computing-io/susql-operator/issues/3"},
		{Case{"the finalizer goes first", FinalizerFirst}, Intermediate, "https://github.com/openkube-hub/KubeUser/issues/54"},
		{Case{"cleanup afterwards", CleanupAfterwards}, Intermediate, "https://github.com/kubernetes/kubernetes/issues/53451"},
		{Case{"a late finalizer", LateFinalizer}, Order, "https://github.com/outscale/cluster-api-provider-outscale/issues/917"},
		{Case{"the generation of another spec", WrongGeneration}, Order, "https://github.com/kubernetes-retired/service-catalog/issues/1747"},
		{Case{"a stale deletion", StaleDeletion}, Stale, "https://github.com/instaclustr/cassandra-operator/issues/402"},
		{Case{"replaced unseen", ReplacedUnseen}, Unobserved, "https://github.com/kubernetes/kubernetes/pull/133565"},
		{Case{"a swallowed conflict", SwallowedConflict}, Swallowed, "https://github.com/Azure/azure-service-operator/pull/2719"},
		{Case{"a timestamp in the status", Timestamps}, Loop, "https://github.com/sky-uk/kfp-operator/issues/625"},
		{Case{"an unchanged status", UnchangedStatus}, Loop, "https://github.com/keikoproj/instance-manager/issues/235"},
		{Case{"a fight", Fight}, Loop, "https://github.com/gardener/gardener/pull/1017"},
		{Case{"no fence", NoFence}, Unfenced, "https://github.com/kubernetes/kubernetes/issues/23731"},
	}
}

// Correct returns the programs without bugs.
func Correct() []Case {
	return []Case{{"jobs", Jobs}, {"tickets", Tickets}, {"elected", Elected}, {"messages", Messages}}
}
