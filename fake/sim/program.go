package sim

import (
	"context"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/fake"
)

// Program is what is explored, with its surroundings. [Explore] makes a new one for each schedule, inside the schedule's
// testing/synctest bubble. So make the server, channels and everything else that changes in the function that returns it.
type Program struct {
	// Server is the API server. Register the resources that the program uses, and create what is there before it
	// starts. Set CollectGarbage in its options if objects shall follow their owners.
	Server *fake.Server

	// Run is one process of the program, from its start until ctx ends. It reaches the server by to alone. It must
	// return once ctx has ended: a process that crashes ends like that, and none of its requests reaches the server any
	// more. If it returns on its own, it is started again after ten seconds, as a kubelet does; without any fault
	// that is an error.
	Run func(ctx context.Context, to client.Connection) error

	// Replicas is the number of processes. Zero means one.
	Replicas int

	// Users does what users do to the objects: it writes to w.Server with the functions of package fake, and calls
	// w.Settle or w.Wait between its writes. It runs in a goroutine of its own. An error ends the schedule: in the one
	// without faults the script is wrong, in others it is a bug that was found. After it, all objects that it
	// created and left are deleted.
	Users func(w *World) error

	// Always says what must hold after each write of the program. It runs while everything else stands still. Nil
	// means that nothing must.
	Always func(w *World) error

	// Finally says what must hold when the program has come to rest after Users, before what is left is deleted.
	// Nil means that nothing must, beyond the rules that hold for each program: see the package comment.
	Finally func(w *World) error

	// Ignore lists paths of fields that may differ between the ends of two schedules, such as "status.restarts" or
	// "metadata.annotations[example.com/seen]", and resources of which all objects may, such as "controllerrevisions.apps".
	// Timestamps, uids, versions, generations and generated names never count. "rule unchanged" leaves out the rule of that
	// name: see the package comment.
	Ignore []string

	// Keeps lists resources of which objects may stay when everything that users created is deleted, such as
	// "secrets" or "deployments.apps". Leases and Events always may.
	Keeps []string
}
