// Package informers is the factory of k8s.io/client-go/informers with Kinform's informers. A
// program changes one import:
//
//	"github.com/kinform/kinform/with/clientgo/informers" // was "k8s.io/client-go/informers"
//
// Generated informers and listers, InformerFor with the program's functions, Start,
// WaitForCacheSync and Shutdown work as before. Package with/clientgo says what differs in the
// informers.
//
// If clientgo.InsteadOf cannot replace an informer, it stays client-go's, and this is logged.
// This is a separate package because it links the generated informers of all groups.
package informers
