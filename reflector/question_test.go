package reflector

import "testing"

// An object of its uid and version proves the history if its contents are the same, too.
func TestAnswerOfAnObject(t *testing.T) {
	seen := metaEvent(Added, "a", "8")
	changed, again, earlier := metaEvent(Added, "a", "8"), metaEvent(Added, "a", "9"), metaEvent(Added, "a", "7")
	changed.Object.Labels = map[string]string{"x": "y"}
	for name, c := range map[string]struct {
		found Event[*partial]
		want  finding
	}{
		"as it was":       {seen, plausible},
		"other contents":  {changed, doubtful},
		"newer":           {again, unproven},
		"older":           {earlier, refuted},
		"of another name": {metaEvent(Added, "b", "8"), plausible},
	} {
		var s eventsOf[*partial]
		s.list(seen)
		q := question{seen: "8", object: s.listed, verdict: verdict{answer: unproven}}
		if q.take(s.notice(c.found)); q.answer != c.want {
			t.Errorf("%s: answer %d, want %d", name, q.answer, c.want)
		}
	}
}
