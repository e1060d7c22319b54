package informer

// SetLag makes handlers count as slow when they are n events behind instead of HandlerLag.
func SetLag[K comparable, T any](i *Informer[K, T], n uint64) { i.lag = n }
