"use strict";

// All text goes into text nodes.
function el(tag, cls, ...children) {
  const e = document.createElement(tag);
  if (cls) e.className = cls;
  e.append(...children.filter((c) => c !== null));
  return e;
}

function secs(s) {
  if (s >= 172800) return (s / 86400).toFixed(1) + " days";
  if (s >= 3600) return (s / 3600).toFixed(1) + " h";
  if (s >= 120) return (s / 60).toFixed(1) + " min";
  if (s >= 1) return s.toFixed(1) + " s";
  return Math.round(s * 1000) + " ms";
}

function bytes(n) {
  for (const unit of ["B", "KB", "MB"]) {
    if (n < 1000) return (n >= 100 || unit === "B" ? Math.round(n) : n.toFixed(1)) + " " + unit;
    n /= 1000;
  }
  return n.toFixed(1) + " GB";
}

function rate(n) {
  return n === undefined ? null : (n >= 100 ? Math.round(n) : n.toFixed(1)) + "/s";
}

function facts(all) {
  const dl = el("dl", "");
  for (const [name, value] of all) {
    if (value === null) continue;
    dl.append(el("div", "", el("dt", "", name), el("dd", "", String(value))));
  }
  return dl;
}

function keyButton(key) {
  const b = el("button", "key", key);
  b.type = "button";
  b.dataset.key = key;
  return b;
}

function list(title, items) {
  return items.length === 0 ? null : el("div", "", el("h4", "", title), el("ul", "", ...items));
}

function keys(title, total, all, note, bad) {
  const more = total > all.length ? ` (${all.length} of ${total})` : "";
  return list(title + more, all.map((k) => el("li", "", keyButton(k.key), el("span", bad && bad(k) ? "bad" : "dim", note(k)), k.cause ? el("span", "dim", `because: ${k.cause}`) : null)));
}

// failed says how often a key has failed, when it did last, and why.
function failed(k) {
  const parts = [k.failures ? `${k.failures} failures` : "", k.seconds ? `${secs(k.seconds)} ago` : ""].filter((p) => p);
  return parts.join(", ") + (k.error ? `: ${k.error}` : "");
}

// memory shows the process beside its caches, the largest first.
function memory(m, informers) {
  const sum = informers.reduce((n, i) => n + i.bytes, 0);
  const largest = informers.filter((i) => i.objects).sort((a, b) => b.bytes - a.bytes);
  return el("article", "card",
    facts([["heap", bytes(m.heap)], ["live after the last collection", m.live ? bytes(m.live) : null], ["from the system", bytes(m.total)], ["objects in caches, about", bytes(sum)]]),
    el("div", "lists", list(`caches${largest.length > 20 ? ` (20 of ${largest.length})` : ""}`, largest.slice(0, 20).map((i) => el("li", "", el("bdi", "", i.name),
      el("span", "dim", [`${bytes(i.bytes)}, ${i.objects} × ${bytes(i.bytes / i.objects)}`, ...(i.marks || [])].join(", ")))))));
}

function informer(i) {
  const bad = i.state === "failing" || i.state === "stopped" || i.state === "busy" || i.state === "never started";
  const relists = Object.entries(i.relists).map(([why, n]) => `${n} ${why}`).join(", ");
  const c = el("article", "card",
    el("div", "head", el("h3", "", i.name), i.resource === i.name ? null : el("span", "dim", i.resource),
      el("span", bad ? "bad" : "good", i.state), i.marks ? el("span", "dim", i.marks.join(", ")) : null),
    facts([
      ["objects", i.objects], ["size, about", bytes(i.bytes)], ["version", i.version || "none"],
      ["last event", i.lastEvent === undefined ? "none" : secs(i.lastEvent) + " ago"],
      ["events", i.events], ["event rate", rate(i.eventRate)], ["lists", i.lists], ["watches", i.watches], ["relists", relists || "none"],
      ["failures", i.failures], ["pending changes", i.pending || null], ["bad objects", i.badObjects || null],
      ["own writes pending", i.pendingWrites], ["lost writes", i.lostWrites || null],
      ["list progress", i.state === "first list" ? `${i.listed} of ${i.expected || "?"}` : null],
    ]));
  if (i.state === "busy") c.append(el("p", "bad", "it does not answer, as while a function of an index does not return; all this is from before"));
  if (i.failing) {
    const next = i.failing.next === undefined ? "" : `; next try in ${secs(Math.max(0, i.failing.next))}`;
    c.append(el("p", "bad", `failing for ${secs(i.failing.since)}${next}: ${i.failing.error}`));
  } else if (i.lastError) {
    c.append(el("p", "dim", `last error, ${secs(i.lastError.age)} ago: ${i.lastError.error}`));
  }
  if (i.quiet !== undefined) c.append(el("p", "bad", `the list is slow: nothing has come for ${secs(i.quiet)}`));
  const handlers = list("handlers", i.handlers.map((h) => el("li", "", el("bdi", "", h.name),
    el("span", h.lag > 1000 || h.stuck !== undefined ? "bad" : "dim", (h.stuck === undefined ? "" : `has not returned for ${secs(h.stuck)}, `) +
      `${h.lag} behind${h.synced ? "" : ", not synced"}${h.overruns ? `, ${h.overruns} overruns` : ""}`))));
  const indexes = list("indexes", i.indexes.map((x) => el("li", "", el("bdi", "", x.name),
    el("span", "dim", x.values === 0 ? "empty" : `${x.values} values, ${(x.entries / x.values).toFixed(1)} objects each, largest ${x.largest}`))));
  const relisted = list("last relists", i.lastRelists.map((r) => el("li", "", el("span", "", r.reason), el("span", "dim", secs(r.age) + " ago"))));
  c.append(el("div", "lists", ...[handlers, indexes, relisted]));
  return c;
}

// hangs marks a key whose reconcile takes so long that somebody should look.
function hangs(k) { return k.seconds >= 60; }

function queue(q) {
  const n = q.counts;
  return el("article", "card",
    el("div", "head", el("h3", "", q.name), q.shuttingDown ? el("span", "bad", "shut down") : null),
    q.noWorkers ? el("p", "", `No worker runs: ${q.noWorkers}.`) : null,
    facts([
      ["queued", q.queued], ["delayed", q.delayed], ["running", q.running], ["idle workers", q.idle],
      ["adds", q.adds], ["add rate", rate(q.addRate)], ["retries", q.retries], ["panics", q.panics],
      ["workers", n ? q.workers : null], ["rate", rate(q.runRate)], ["failure rate", rate(q.failRate)],
      ["mean wait", q.meanWait === undefined ? null : secs(q.meanWait)], ["mean time", q.meanWork === undefined ? null : secs(q.meanWork)],
      ...(n ? [["succeeded", n.succeeded], ["again", n.again], ["failed", n.failed], ["gave up", n.gaveUp], ["cut short", n.cutShort || null], ["timed out", n.timedOut || null]] : []),
    ]),
    el("div", "lists",
      keys("in a loop", q.looping, q.loopingKeys || [], (k) => `${k.error}, found ${secs(k.seconds)} ago`, () => true),
      keys("failing", q.failing, q.failingKeys, failed),
      keys("given up", q.givenUp, q.givenUpKeys, failed),
      keys("running", q.running, q.runningKeys, (k) => k.seconds ? (hangs(k) ? "has not returned for " : "") + secs(k.seconds) : "", hangs),
      keys("queued", q.queued, q.queuedKeys, (k) => k.seconds ? "waits " + secs(k.seconds) : ""),
      keys("delayed", q.delayed, q.delayedKeys, (k) => "in " + secs(Math.max(0, k.seconds)))));
}

function replica(r) {
  const share = (x) => (100 * x).toFixed(1) + " %";
  return el("article", "card",
    el("div", "head", el("h3", "", r.name), r.identity === r.name ? null : el("span", "dim", r.identity), el("span", r.leased && !r.problem ? "good" : "bad", r.leased ? "leased" : "no lease")),
    facts([
      ["share", share(r.share)], ["ranges", r.rangeCount], ["lease ends in", r.leased ? secs(Math.max(0, r.until)) : null],
      ["running", r.running], ["draining", r.draining], ["ranges gained", r.gained], ["ranges dropped", r.dropped], ["epoch", r.epoch],
    ]),
    r.problem ? el("p", "bad", r.problem) : null,
    el("div", "lists",
      list("members", r.members.map((m) => el("li", "", el("bdi", "", m.identity),
        el("span", m.stopped ? "bad" : "dim", `${share(m.share)}, weight ${m.weight}, ${m.stopped ? "stopped" : "renewed " + secs(Math.max(0, m.renewed)) + " ago"}`)))),
      list(`moves${r.moveCount > r.moves.length ? ` (${r.moves.length} of ${r.moveCount})` : ""}`, r.moves.map((m) => el("li", "", el("span", "", `${m.first}–${m.last}`),
        el("span", "dim", el("bdi", "", m.from || "nobody"), " to ", el("bdi", "", m.to))))),
      list(`ranges${r.rangeCount > r.ranges.length ? ` (${r.ranges.length} of ${r.rangeCount})` : ""}`, r.ranges.map((x) => el("li", "", el("span", "", `${x.first}–${x.last}`),
        el("span", "dim", x.ready ? `number ${x.number}` : "catching up"))))));
}

function fill(id, title, items) {
  const section = document.getElementById(id);
  // A redraw must not take the focus from a key, which may be in several lists. If the key is gone, Tab goes on from here.
  const at = document.activeElement;
  const focused = section.contains(at) ? at.dataset.key : undefined;
  const same = () => [...section.querySelectorAll("button.key")].filter((b) => b.dataset.key === focused);
  const nth = same().indexOf(at);
  section.replaceChildren(...(items.length ? [el("h2", "", title), ...items] : []));
  if (focused === undefined) return;
  section.tabIndex = -1;
  (same()[nth] || same().pop() || section).focus({ preventScroll: true });
}

function draw(state) {
  fill("informers", "Informers", state.informers.map(informer));
  fill("controllers", "Controllers", state.controllers.map(queue));
  fill("queues", "Queues", state.queues.map(queue));
  fill("memory", "Memory", [memory(state.memory, state.informers)]);
  fill("replicas", "Replicas", state.replicas.map(replica));
  document.getElementById("status").textContent = "live, " + new Date(state.time).toLocaleTimeString();
}

function inQueue(q) {
  return el("article", "card", el("div", "head", el("h3", "", q.name), el("span", "dim", q.state)), el("p", "", q.why),
    q.failures || q.lastError ? el("p", "bad", failed({ failures: q.failures, seconds: q.lastError?.age, error: q.lastError?.error })) : null,
    q.loop ? el("p", "bad", `in a loop: ${q.loop}`) : null,
    list("because", (q.causes || []).map((c) => el("li", "", c))),
    list("last reconciles", q.reconciles.map((r) => el("li", "", el("span", ["failed", "gave up", "panicked"].includes(r.result) ? "bad" : "", (r.count > 1 ? `×${r.count} ` : "") + (r.error ? `${r.result}: ${r.error}` : r.result)),
      el("span", "dim", `took ${secs(r.took)}, ${secs(r.age)} ago${r.count > 1 ? `, the first ${secs(r.first)} ago` : ""}`), ...r.causes.map((c) => el("span", "dim", c))))));
}

function inInformer(i) {
  return el("article", "card", el("div", "head", el("h3", "", i.name), el("span", "dim", i.busy ? "busy: it does not answer" : i.cached ? "in the cache" : "not in the cache")),
    facts([["version", i.version || null], ["server", i.server || null], ["own write pending", i.pendingWrite || null]]),
    list("last events", i.events.map((e) => el("li", "", el("span", "", `${e.type} ${e.version}`),
      el("span", "dim", `${secs(e.age)} ago`),
      ...e.handlers.map((h) => el("span", h.after === undefined ? "bad" : "dim", el("bdi", "", h.name),
        h.after === undefined ? (h.missed ? ": left out" : ": not yet") : `: after ${secs(h.after)}`))))),
    i.object === undefined ? null : el("pre", "", JSON.stringify(i.object, null, 2)));
}

async function tell(key) {
  const section = document.getElementById("story");
  section.hidden = false;
  try {
    const server = document.getElementById("server").checked ? "&server=1" : "";
    const answer = await fetch("story.json?key=" + encodeURIComponent(key) + server);
    const s = await answer.json();
    section.replaceChildren(el("h2", "", "The story of ", el("bdi", "", s.key)),
      ...s.controllers.map(inQueue), ...s.queues.map(inQueue), ...s.informers.map(inInformer),
      ...(s.unknown.length ? [el("p", "dim", "nothing is known of it in ", el("bdi", "", s.unknown.join(", ")))] : []));
  } catch (err) {
    section.replaceChildren(el("p", "bad", String(err)));
  }
  section.focus();
}

document.getElementById("search").addEventListener("submit", (ev) => {
  ev.preventDefault();
  tell(document.getElementById("key").value.trim());
});
document.addEventListener("click", (ev) => {
  const b = ev.target.closest("button.key");
  if (!b) return;
  document.getElementById("key").value = b.dataset.key;
  tell(b.dataset.key);
});

// A link such as #prod/web opens the story of a key.
function follow() {
  const key = new URLSearchParams("key=" + location.hash.slice(1).replaceAll("+", "%2B").replaceAll("&", "%26")).get("key");
  if (!key) return;
  document.getElementById("key").value = key;
  tell(key);
}
window.addEventListener("hashchange", follow);
follow();

const live = new EventSource("events");
live.onmessage = (ev) => draw(JSON.parse(ev.data));
live.onerror = () => { document.getElementById("status").textContent = "connection lost, trying again"; };
