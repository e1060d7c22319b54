// Package informers has the factory of k8s.io/client-go/informers with Kinform's informers. A
// program changes one import:
//
//	"github.com/kinform/kinform/with/clientgo/informers" // was "k8s.io/client-go/informers"
//
// Generated informers and listers, InformerFor with the program's own functions, Start,
// WaitForCacheSync and Shutdown work as before. Package with/clientgo says what differs in the
// informers.
//
// An informer that clientgo.InsteadOf cannot replace stays one of client-go, and is logged. It is a
// separate package because it links the generated informers of all groups.
package informers
