// What a page does by itself: it follows the record as it grows, and obeys a few keys. Without it everything still works.
(() => {
  "use strict";
  const root = document.body.dataset.root;
  const one = (selector) => document.querySelector(selector);
  const rows = () => [...document.querySelectorAll("#calls a.to")];
  const stops = () => {
    const found = rows();
    return found.length ? found : [...document.querySelectorAll(".turns a.to, .reading > summary, li.turn:not(:has(a.to)), a.to-run, .pick > input, .changes .heap > summary")];
  };

  // -- following the record

  let known = null;
  let planned = false;
  let source = null;

  const say = (text) => { one("#announce").textContent = text; };

  function state(name, word) {
    const live = one("#live");
    if (!live) return;
    live.dataset.state = name;
    one("#live-word").textContent = word;
  }

  function asked(limit) {
    const form = one("#filters");
    const fields = new URLSearchParams(form ? new FormData(form) : undefined);
    for (const [name, value] of [...fields]) if (!value) fields.delete(name);
    if (limit) fields.set("limit", limit);
    const chosen = one("#detail [data-call]");
    if (chosen) fields.set("chosen", chosen.dataset.call);
    return fields;
  }

  async function refresh(before, now) {
    const list = one("#calls");
    if (list && !list.dataset.before) {
      const added = now.call - before.call;
      const count = Math.min(Math.max(rows().length + Math.max(added, 0), 50), 500);
      await htmx.ajax("GET", `${root}/rows?${asked(count)}`, { target: "#calls", swap: "innerMorph" });
      for (const row of rows()) if (Number(row.id.slice(1)) > before.call) row.parentElement.classList.add("new");
      if (added > 0) {
        const first = rows()[0];
        const newest = first ? `, the newest: ${first.querySelector(".tool").textContent} ${first.querySelector(".word").textContent}` : "";
        say(`${added} new ${added === 1 ? "call" : "calls"}${newest}`);
      }
    }
    if (one("#glance")) {
      const session = asked().get("session");
      await htmx.ajax("GET", `${root}/glance${session ? `?session=${encodeURIComponent(session)}` : ""}`, { target: "#glance", swap: "innerMorph" });
    }
    if (one("#board") && before.tx !== now.tx) await lookAgain();
    const open = one("#detail [data-call]");
    if (open && before.undo !== now.undo) {
      await htmx.ajax("GET", `${root}/calls/${open.dataset.call}?${asked()}`, { target: "#detail", swap: "innerMorph" });
    }
  }

  const lookAgain = () => htmx.ajax("GET", `${root}/board`, { target: "#main", swap: "innerMorph" });

  // What programs write in tries moves no record.
  setInterval(() => { if (one("#board[data-running]") && !document.hidden) lookAgain(); }, 2000);

  async function waits(before, now) {
    for (const [pill, count] of [[one("#waiting-count"), now.approvals.length], [one("#tries-count"), now.tries.length]]) {
      if (pill) { pill.textContent = count; pill.hidden = !count; }
    }
    const moved = JSON.stringify([before.approvals, before.tries]) !== JSON.stringify([now.approvals, now.tries]);
    if (!moved) return;
    if (now.approvals.length > before.approvals.length) say("A call waits for your answer");
    if (one("#board")) await lookAgain();
    if (!one("#waiting")) return;
    const edited = [...document.querySelectorAll("#waiting textarea")].some((area) => area.value !== area.defaultValue);
    if (edited) say("Something else waits now; reload the page when you have answered");
    else await htmx.ajax("GET", `${root}/waiting${location.search}`, { target: "#main", swap: "innerMorph" });
  }

  async function catchUp() {
    if (planned) return;
    planned = true;
    try {
      while (catchUp.told !== known) {
        const now = catchUp.told;
        const before = known;
        known = now;
        if (before === null) {
          // The page was made a moment before the stream was opened: what came in between is not on it yet.
          const made = one("#columns")?.dataset;
          const then = { call: Number(made?.call ?? now.call), undo: Number(made?.undo ?? now.undo) };
          if (then.call !== now.call || then.undo !== now.undo) await refresh(then, now);
          const shown = ["#waiting-count", "#tries-count"].map((pill) => Number(one(pill)?.textContent ?? 0));
          if (shown[0] !== now.approvals.length || shown[1] !== now.tries.length) await waits({ approvals: [], tries: [] }, now);
        } else {
          await refresh(before, now);
          await waits(before, now);
        }
      }
    } finally {
      planned = false;
    }
  }

  function listen() {
    if (source || !one("#live")) return;
    source = new EventSource(`${root}/live`);
    source.addEventListener("open", () => state("on", "live"));
    source.addEventListener("error", () => state("off", "not connected"));
    source.addEventListener("moved", (event) => {
      const told = JSON.parse(event.data);
      if (told.problem) { state("off", "record unreadable"); return; }
      state("on", "live");
      if (told.workspaces) { htmx.ajax("GET", "/", { target: "#main", swap: "innerMorph" }); return; }
      catchUp.told = told;
      catchUp();
    });
  }
  catchUp.told = null;

  // A browser keeps few connections to one place; a page that nobody sees needs none.
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) listen();
    else if (source) { source.close(); source = null; }
  });
  window.addEventListener("pagehide", () => { source?.close(); source = null; });

  // -- what is open

  function opened(event) {
    const detail = one("#detail");
    if (!detail || event.target !== detail) return;
    const call = detail.querySelector("[data-call]");
    one("#columns").classList.toggle("has-detail", !!call);
    for (const row of rows()) {
      if (call && row.id === `c${call.dataset.call}`) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
  }

  document.addEventListener("htmx:after:swap", (event) => {
    const context = event.detail?.ctx;
    opened({ target: context?.target instanceof Element ? context.target : one(context?.target ?? "#nothing") });
    const source = context?.sourceElement;
    if (source?.matches?.("a.to") || document.activeElement?.matches?.("a.to[aria-current]")) {
      if (one("#detail [data-call]") && context.sourceEvent?.type === "click") {
        one("#call-title")?.focus({ preventScroll: matchMedia("(min-width: 56rem)").matches });
        one("#detail").scrollTop = 0;
      }
    }
  });

  // -- keys

  function step(by) {
    const all = stops();
    if (!all.length) return;
    let at = all.indexOf(document.activeElement);
    if (at < 0) {
      at = all.findIndex((row) => row.hasAttribute("aria-current"));
      if (at < 0) at = by > 0 ? -1 : all.length;
    }
    const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
    if (at + by >= all.length) one("#more a")?.focus();
  }

  const keys = {
    j: () => step(1),
    k: () => step(-1),
    g: () => { rows()[0]?.focus(); window.scrollTo(0, 0); },
    "/": () => { one("#search")?.focus(); one("#search")?.select(); },
    v: () => { document.activeElement?.closest?.(".viewing")?.querySelector(".viewed input").click(); },
    "?": () => one("#help").showModal(),
  };

  // -- which files of all changes were viewed: this browser knows, by a mark that is another when the change is

  const seen = () => { try { return JSON.parse(localStorage.getItem(`viewed${root}`) ?? "[]"); } catch { return []; } };

  function showViewed() {
    if (!one(".changes")) return;
    const marks = new Set(seen());
    let count = 0;
    for (const file of document.querySelectorAll(".reading")) {
      const box = file.parentElement.querySelector(".viewed input");
      box.checked = marks.has(file.dataset.mark);
      if (box.checked) file.open = false;
    }
    for (const link of document.querySelectorAll(".tree a[data-mark]")) {
      const is = marks.has(link.dataset.mark);
      link.classList.toggle("is-viewed", is);
      if (is) count += 1;
    }
    const told = one("#viewed-count");
    if (told) told.textContent = count ? `· ${count} viewed` : "";
  }

  document.addEventListener("change", (event) => {
    const file = event.target.closest?.(".viewed")?.parentElement.querySelector(".reading");
    if (!file) return;
    const marks = seen().filter((mark) => mark !== file.dataset.mark);
    if (event.target.checked) marks.push(file.dataset.mark);
    localStorage.setItem(`viewed${root}`, JSON.stringify(marks.slice(-5000)));
    file.open = !event.target.checked;
    showViewed();
  });

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.(".tree a[data-mark]");
    if (!link) return;
    const file = document.getElementById(`f-${link.dataset.mark}`);
    event.preventDefault();
    if (!file) { location.href = link.dataset.to; return; }
    file.open = true;
    file.scrollIntoView({ block: "start" });
    file.querySelector("summary").focus({ preventScroll: true });
  });

  document.addEventListener("htmx:after:swap", showViewed);

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const typing = event.target.closest?.("input:not([type=checkbox]), textarea, select");
    if (event.key === "Escape") {
      if (one("#help[open]")) return;  // it closes by itself
      if (typing) { typing.blur(); return; }
      one("#close")?.click();
      return;
    }
    // Enter on a tick would send the form by its first button.
    const picked = event.key === "Enter" && event.target.closest?.(".pick > input")?.parentElement.querySelector("details");
    if (picked) { event.preventDefault(); picked.open = !picked.open; return; }
    if (typing || one("dialog[open]") || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });

  function start() {
    one("#help-open")?.addEventListener("click", keys["?"]);
    const named = location.hash.match(/^#c\d+$/) && document.getElementById(location.hash.slice(1));
    if (named) named.focus();
    showViewed();
    const current = one(".turns [aria-current], #calls [aria-current]");
    if (current && !location.hash) current.scrollIntoView({ block: "center" });
    listen();
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
