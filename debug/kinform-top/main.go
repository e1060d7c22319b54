// Command kinform-top shows the state of a debug page in a terminal, redrawn every second:
//
//	go run github.com/kinform/kinform/debug/kinform-top http://localhost:8080/debug/kinform/
//
// q ends it, and so does Ctrl-C; q and Enter where the terminal cannot be set by stty. With -once
// it prints the state once, without control sequences.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/kinform/kinform/debug"
)

// maxAnswer bounds the bytes read of one answer.
const maxAnswer = 64 << 20

func main() { os.Exit(run()) }

// run returns the exit code. When it returns, the terminal is as before, even after a panic or one
// of the usual signals.
func run() int {
	once := flag.Bool("once", false, "print the state once")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: kinform-top [-once] URL of the debug page")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	hint := ""
	if !*once {
		restore, keys := byKey(os.Stdin)
		defer restore()
		hint = "q and Enter end this."
		if keys {
			hint = "q ends this."
		}
		go func() {
			if quits(os.Stdin, keys) {
				stop()
			}
		}()
	}
	if err := top(ctx, os.Stdout, flag.Arg(0), hint); err != nil {
		fmt.Fprintln(os.Stderr, "kinform-top:", err)
		return 1
	}
	return 0
}

// top prints the state of the page at address. With a hint it prints the state and the hint every
// second until ctx ends, and after the first state it shows failures instead of returning them.
// Without a hint it prints the state once.
func top(ctx context.Context, out io.Writer, address, hint string) error {
	once := hint == ""
	from, err := stateURL(address)
	if err != nil {
		return err
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for first := true; ; first = false {
		state, err := read(ctx, from)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && (first || once) {
			return err
		}
		if text := render(state); once {
			_, err = io.WriteString(out, text)
			return err
		} else if err != nil {
			fmt.Fprintf(out, "\r%v\x1b[K", err)
		} else if _, err = io.WriteString(out, "\x1b[H\x1b[2J"+text+"\n"+hint+"\n"); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// stateURL returns the URL of the JSON of the page at address, or of itself.
func stateURL(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%q is no http or https URL", address)
	}
	if strings.HasSuffix(u.Path, "/state.json") {
		return u.String(), nil
	}
	return u.JoinPath("state.json").String(), nil
}

func read(ctx context.Context, from string) (state debug.State, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return state, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return state, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return state, fmt.Errorf("%s: %s", from, answer.Status)
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(&state); err != nil {
		return state, errors.Join(errors.New(from+" has no state of a debug page"), err)
	}
	return state, nil
}
