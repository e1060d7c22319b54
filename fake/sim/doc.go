// Package sim explores what becomes of a controller when things go wrong.
package sim
