package debug_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"net/http/httptest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/client"
	"github.com/kinform/kinform/controller"
	"github.com/kinform/kinform/debug"
	"github.com/kinform/kinform/fake"
	"github.com/kinform/kinform/index"
	"github.com/kinform/kinform/kind"
	"github.com/kinform/kinform/queue"
)

// patience is how long the test waits for what comes within milliseconds.
const patience = time.Minute

// browser speaks the DevTools protocol with a headless Chromium, through its pipe: JSON that ends
// with a zero byte.
type browser struct {
	t       *testing.T
	out     *os.File
	session string

	mu      sync.Mutex
	last    int
	answers map[int]chan message
	faults  []string // exceptions, refusals by the policy, and errors on the console
}

type message struct {
	ID        int             `json:"id,omitempty"`
	Method    string          `json:"method,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Params    any             `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

type object = map[string]any

// newBrowser starts Chromium, and skips the test where there is none.
func newBrowser(t *testing.T) *browser {
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium")
	}
	toRead, out, err := os.Pipe()
	in, toWrite, failed := os.Pipe()
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
		"--no-first-run", "--hide-scrollbars", "--force-device-scale-factor=1", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{toRead, toWrite}
	if err := cmd.Start(); err != nil {
		t.Skip("chromium does not start: ", err)
	}
	toRead.Close()
	toWrite.Close()
	b := &browser{t: t, out: out, answers: map[int]chan message{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.listen(in)
	}()
	t.Cleanup(func() {
		out.Close() // it ends when its pipe does
		timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		timer.Stop()
		<-ended
		in.Close()
	})
	var page struct{ TargetID, SessionID string }
	b.call("Target.createTarget", object{"url": "about:blank"}, &page)
	b.call("Target.attachToTarget", object{"targetId": page.TargetID, "flatten": true}, &page)
	b.session = page.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

func (b *browser) listen(in *os.File) {
	for r := bufio.NewReader(in); ; {
		text, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		if answer := b.answers[m.ID]; answer != nil {
			delete(b.answers, m.ID)
			answer <- m
		}
		if m.Method == "Runtime.exceptionThrown" || m.Method == "Log.entryAdded" || m.Method == "Runtime.consoleAPICalled" {
			b.faults = append(b.faults, string(text))
		}
		b.mu.Unlock()
	}
}

// call calls a method of the protocol and decodes its result.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	answer := make(chan message, 1)
	b.mu.Lock()
	b.last++
	id := b.last
	b.answers[id] = answer
	b.mu.Unlock()
	text, err := json.Marshal(message{ID: id, Method: method, SessionID: b.session, Params: params})
	if err == nil {
		_, err = b.out.Write(append(text, 0))
	}
	if err != nil {
		b.t.Fatal(err)
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				b.t.Fatalf("%s: %v", method, err)
			}
		}
	case <-time.After(patience):
		b.t.Fatalf("%s: no answer", method)
	}
}

// eval returns the value of an expression, as JSON does it.
func (b *browser) eval(expression string) any {
	b.t.Helper()
	var out struct {
		Result           struct{ Value any }
		ExceptionDetails any
	}
	b.call("Runtime.evaluate", object{"expression": expression, "returnByValue": true, "awaitPromise": true}, &out)
	if out.ExceptionDetails != nil {
		b.t.Fatalf("%s: %v", expression, out.ExceptionDetails)
	}
	return out.Result.Value
}

// until waits until an expression is true. While it throws, as before the page is there, it is not.
func (b *browser) until(what, expression string) {
	b.t.Helper()
	expression = "(() => { try { return " + expression + " } catch { return false } })()"
	for end := time.Now().Add(patience); b.eval(expression) != true; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("%s: not so after %v: %s\n%v", what, patience, expression, b.eval("document.body.innerText"))
		}
	}
}

// press presses and releases a key.
func (b *browser) press(name string, code int, text string) {
	for _, typ := range []string{"keyDown", "keyUp"} {
		p := object{"type": typ, "key": name, "code": name, "windowsVirtualKeyCode": code}
		if text != "" && typ == "keyDown" {
			p["text"] = text
		}
		b.call("Input.dispatchKeyEvent", p, nil)
	}
}

func (b *browser) tab()   { b.press("Tab", 9, "") }
func (b *browser) enter() { b.press("Enter", 13, "\r") }

// tabTo presses Tab until the focus is on what the selector finds.
func (b *browser) tabTo(selector string) {
	b.t.Helper()
	for range 100 {
		b.tab()
		if b.eval(fmt.Sprintf("document.activeElement.matches(%q)", selector)) == true {
			return
		}
	}
	b.t.Fatalf("Tab never comes to %s", selector)
}

// look sets width, height and colors.
func (b *browser) look(width, height int, scheme string) {
	b.call("Emulation.setDeviceMetricsOverride", object{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.call("Emulation.setEmulatedMedia", object{"features": []object{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// contrast returns the smallest contrast of text with its background, as WCAG defines it, and that
// text.
const contrast = `(() => {
  const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = (rgb) => 0.2126 * channel(rgb[0]) + 0.7152 * channel(rgb[1]) + 0.0722 * channel(rgb[2]);
  const parse = (s) => s.match(/[\d.]+/g).map(Number);
  let least = [99, ""];
  for (const e of document.querySelectorAll("body *")) {
    const text = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!text || !e.checkVisibility()) continue;
    let at = e, back;
    do { back = parse(getComputedStyle(at).backgroundColor); at = at.parentElement; } while (at && back.length === 4 && back[3] === 0);
    const a = light(parse(getComputedStyle(e).color)), b = light(back);
    const c = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (c < least[0]) least = [c, e.textContent.slice(0, 60)];
  }
  return least;
})()`

// browsed is a program with much to see, in real time.
func browsed(t *testing.T) (url string) {
	p := newProgram(t, debug.Options{Events: 64, Reconciles: 64})
	if err := p.inf.AddIndexes(index.New("first letter", func(dst []string, s *Secret) []string { return append(dst, s.Name[:1]) })); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bad", "good", "slow", "panics", "never", "turns"} {
		if _, err := fake.Create(p.server, newSecret(name)); err != nil {
			t.Fatal(err)
		}
	}
	hostile := queue.New(queue.Options[string]{})
	for _, k := range []string{"<img src=x onerror=pwned=1>", strings.Repeat("x", 253), "\u202eevil", "😀 שלום", "</script><script>pwned=1</script>"} {
		hostile.Add(k)
	}
	if err := errors.Join(p.page.AddQueue("<b>hostile</b>", hostile), p.page.AddReplica("websites", stub{})); err != nil {
		t.Fatal(err)
	}
	loops := looping(p)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- p.run(ctx) }()
	go func() { ended <- loops.Run(ctx) }()
	server := httptest.NewServer(p.page)
	t.Cleanup(func() {
		p.page.Close()
		server.Close()
		cancel()
		if err := errors.Join(<-ended, <-ended); err != nil {
			t.Error(err)
		}
	})
	return server.URL + "/debug/"
}

// looping adds a controller to the page that answers its own writes with further ones, until it is surely found.
func looping(p *program) *controller.Controller[key] {
	secrets := controller.Open(client.Connection{URL: fake.URL, HTTP: p.server.Client()}, kind.Of[*Secret](schema.GroupVersion{Version: "v1"}, "secrets"))
	writes := 0
	c := controller.New("rotate", func(ctx context.Context, k key) error {
		s, ok := secrets.Cached(k)
		if !ok || k.Name != "turns" || writes == 40 {
			return nil
		}
		writes++
		s = s.DeepCopy()
		s.Data = map[string]string{"password": fmt.Sprint("hidden-value", writes)}
		_, err := secrets.Update(ctx, s, metav1.UpdateOptions{})
		return err
	}, controller.Options[key]{OwnEvents: true, Logger: slog.New(slog.DiscardHandler)})
	controller.For(c, secrets)
	if err := p.page.AddController("rotate", c); err != nil {
		p.t.Fatal(err)
	}
	return c
}

// TestBrowser looks at the page in Chromium, on screens of three widths, light and dark, and by
// keyboard alone.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a browser")
	}
	b := newBrowser(t)
	url := browsed(t)
	b.call("Page.navigate", object{"url": url}, nil)
	b.until("the live state", `document.getElementById("status").textContent.startsWith("live") && document.querySelectorAll("article").length === 6`)

	for _, width := range []int{360, 800, 1400} {
		for _, scheme := range []string{"light", "dark"} {
			b.look(width, 900, scheme)
			at := fmt.Sprintf("%d pixels, %s", width, scheme)
			if over := b.eval(`document.documentElement.scrollWidth - innerWidth`); over.(float64) > 0 {
				t.Errorf("%s: the page is wider than the screen, by %v pixels", at, over)
			}
			if least := b.eval(contrast).([]any); least[0].(float64) < 4.5 {
				t.Errorf("%s: a contrast of %.2f at %q", at, least[0], least[1])
			}
			if b.eval(`matchMedia("(prefers-color-scheme: dark)").matches && getComputedStyle(document.body).backgroundColor === "rgb(251, 251, 250)"`) == true {
				t.Errorf("%s: the background is light", at)
			}
		}
	}
	b.keyboard(url)
	b.hostile()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, fault := range b.faults {
		t.Errorf("the browser reports %s", fault)
	}
}

// keyboard searches for a key and opens another from a list.
func (b *browser) keyboard(url string) {
	b.look(360, 900, "light")
	b.call("Page.navigate", object{"url": url + "?again"}, nil)
	b.until("the state", `document.querySelectorAll("#controllers button.key").length > 0`)
	b.tabTo("#key")
	if b.eval(`getComputedStyle(document.activeElement).outlineStyle !== "none" && document.activeElement.labels.length === 1`) != true {
		b.t.Error("the focus cannot be seen, or the field has no label")
	}
	b.call("Input.insertText", object{"text": "a/bad"}, nil)
	b.enter()
	b.until("the story", `document.querySelector("#story h2")?.textContent.includes("a/bad") && document.activeElement.id === "story"`)
	b.until("its results in one line", `/×\d+ failed/.test(document.querySelector("#story").textContent)`)
	b.until("its reconciles", `document.querySelector("#story").textContent.includes("<b>no such thing</b>")`)

	if got := b.eval(`document.querySelector("#informers .head").textContent`); strings.Count(got.(string), "secrets") != 1 {
		b.t.Errorf("the title is %q", got)
	}
	b.until("the memory", `document.querySelector("#memory").textContent.includes("secrets")`)

	b.tabTo("#controllers button.key")
	b.eval(`window.before = document.activeElement; window.key = before.dataset.key; true`)
	b.until("a redraw, which leaves the focus where it was", `!before.isConnected && document.activeElement.dataset.key === key`)
	b.enter()
	b.until("the story of a key of a list", `document.querySelector("#story h2").textContent.includes(key)`)

	// A key that is in two lists keeps the focus where it is, so Tab goes on.
	b.tabTo(`#controllers .lists > div:last-child button.key[data-key="a/bad"]`)
	b.eval(`window.before = document.activeElement; true`)
	b.until("a redraw with a key in two lists", `!before.isConnected && document.activeElement.dataset.key === "a/bad" &&
		document.activeElement.closest("div").querySelector("h4").textContent === "delayed"`)

	if b.eval(`queue({name: "q", queuedKeys: [], delayedKeys: [], runningKeys: [], failingKeys: [], givenUpKeys: [], looping: 300,
		loopingKeys: Array(20).fill({key: "k", error: "what goes on", seconds: 1})}).textContent.includes("in a loop (20 of 300)") &&
		inQueue({name: "q", state: "absent", why: "", loop: "what goes on", reconciles: []}).textContent.includes("in a loop: what goes on")`) != true {
		b.t.Error("keys in a loop are not counted, or not in a story")
	}
	if b.eval(`hangs({seconds: 61}) && !hangs({seconds: 59}) && secs(300000) === "3.5 days"`) != true {
		b.t.Error("a reconcile that hangs is not marked, or days are not days")
	}
	// Why a key runs is in its list and in its story, and so is what goes on in a loop.
	b.eval(`window.keyIn = (list, key) => [...document.querySelectorAll("#controllers .lists > div")].filter((d) => d.querySelector("h4").textContent === list).
		flatMap((d) => [...d.querySelectorAll("li")]).find((li) => li.querySelector("button").dataset.key === key); true`)
	b.until("the cause in the list", `keyIn("running", "a/slow").textContent.includes("because: secrets a/slow found")`)
	b.tabTo(`#controllers button.key[data-key="a/slow"]`)
	b.enter()
	b.until("the cause in the story", `[...document.querySelectorAll("#story .card > div")].some((d) => d.querySelector("h4")?.textContent === "because" && d.textContent.includes("secrets a/slow found"))`)
	b.until("the loop", `keyIn("in a loop", "a/turns").textContent.includes("changed data.password, written by this controller")`)
	b.tabTo(`#controllers button.key[data-key="a/turns"]`)
	b.enter()
	b.until("the causes of its reconciles", `/×\d+ succeeded.*secrets a\/turns updated \d+ → \d+, by this process/.test(document.querySelector("#story").textContent)`)
	if b.eval(`document.body.textContent.includes("hidden-value")`) == true {
		b.t.Error("the page shows a value of a Secret")
	}
	// What was given up can be found without knowing its key.
	b.call("Page.navigate", object{"url": url + "?third"}, nil)
	b.until("the key that was given up", `[...document.querySelectorAll("#controllers .lists > div")].some((d) => d.querySelector("h4").textContent === "given up" && d.textContent.includes("no such plan"))`)
	b.tabTo(`#controllers button.key[data-key="a/never"]`)
	b.enter()
	b.until("its story", `document.querySelector("#story").textContent.includes("gave up: terminal: no such plan")`)
	if over := b.eval(`document.documentElement.scrollWidth - innerWidth`); over.(float64) > 0 {
		b.t.Errorf("the story is wider than the screen, by %v pixels", over)
	}
}

// hostile looks at what names could do to the page.
func (b *browser) hostile() {
	b.until("hostile names as text", `document.querySelector("#queues").textContent.includes("<b>hostile</b>") &&
		document.querySelector("#queues").textContent.includes("<img src=x onerror=pwned=1>")`)
	if got := b.eval(`typeof pwned + document.querySelectorAll("img, main script, #queues b").length`); got != "undefined0" {
		b.t.Errorf("names became code: %v", got)
	}
	b.until("a story from the address", `location.hash = "#" + encodeURIComponent("<img src=x onerror=pwned=1>"), document.querySelector("#story h2").textContent.includes("onerror")`)
}
