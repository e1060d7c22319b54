package stage

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/fake/sim"
	"github.com/kinform/kinform/internal/longtest"
)

// Explore explores a program by a number of schedules, or by 10,000 with KINFORM_LONG=1.
func Explore(t *testing.T, schedules int, program func() sim.Program) {
	t.Helper()
	sim.Explore(t, program, longtest.N(schedules, 10_000))
}

// Server returns an empty server. It panics if a resource cannot be registered.
func Server(opts fake.Options, register ...Step) *fake.Server {
	s := fake.New(opts)
	for _, add := range register {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}

// Step is something that users do on a server.
type Step func(*fake.Server) error

// Users do a step every ten seconds. If a name is taken by what they have deleted before, they try again, ten times.
func Users(steps ...Step) func(*sim.World) error {
	return func(w *sim.World) error {
		for _, do := range steps {
			err := do(w.Server)
			for n := 0; n < 10 && apierrors.IsAlreadyExists(err); n++ {
				w.Settle()
				err = do(w.Server)
			}
			if err != nil {
				return err
			}
			w.Wait(10 * time.Second)
		}
		return nil
	}
}

// Created is a step that creates an object.
func Created[T metav1.Object](obj T) Step {
	return func(s *fake.Server) error {
		_, err := fake.Create(s, obj)
		return err
	}
}

// Patched is a step that changes an object by a merge patch.
func Patched[T metav1.Object](key types.NamespacedName, merge string) Step {
	return func(s *fake.Server) error {
		_, err := fake.Patch[T](s, key, []byte(merge))
		return err
	}
}

// WithStatus is a step that creates an object with a status, or gives one that is there another status.
func WithStatus[T metav1.Object](obj T) Step {
	return func(s *fake.Server) error {
		if _, err := fake.Create(s, obj); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		_, err := fake.UpdateStatus(s, obj)
		return err
	}
}

// Deleted is a step that deletes an object.
func Deleted[T metav1.Object](key types.NamespacedName) Step {
	return func(s *fake.Server) error {
		_, err := fake.Delete[T](s, key)
		return err
	}
}

// IfThere is a step for an object of the program, which may have come to nothing yet.
func IfThere(do Step) Step {
	return func(s *fake.Server) error {
		if err := do(s); !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	}
}
