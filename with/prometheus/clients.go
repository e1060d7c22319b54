package kinformprom

import "github.com/kinform/kinform/client"

// clientNumbers are the metrics of clients, about the answers that they have received.
func clientNumbers() []number[client.Stats] {
	return []number[client.Stats]{
		counter(desc("kinform_client_received_bytes_total", "Bytes of lists, watches and single objects that were read.", "name"),
			func(s client.Stats) float64 { return float64(s.Bytes) }),
		counter(desc("kinform_client_objects_total", "Objects that were decoded.", "name"),
			func(s client.Stats) float64 { return float64(s.Objects) }),
		counter(desc("kinform_client_object_errors_total", "Objects that could not be used.", "name"),
			func(s client.Stats) float64 { return float64(s.ObjectErrors) }),
		counter(desc("kinform_client_recalled_objects_total", "Objects of lists that were not decoded, because the cache had them in the same state.", "name"),
			func(s client.Stats) float64 { return float64(s.Recalled) }),
		counter(desc("kinform_client_decoding_seconds_total", "Time spent decoding objects.", "name"),
			func(s client.Stats) float64 { return s.DecodeTime.Seconds() }),
	}
}
