// Keeps the page current: fetches the view every two seconds and changes only what differs, so that
// scroll position, focus, selected text and opened details stay where they are.
"use strict";

(() => {
  const EVERY_MS = 2000;
  const PATIENCE_MS = 6000;
  let timer = 0;
  let lostSince = null;
  let fetching = false;

  const clock = (date) => date.toISOString().slice(11, 19) + " UTC";

  function alike(here, wanted) {
    return here.nodeType === wanted.nodeType && here.nodeName === wanted.nodeName &&
      (here.id || "") === (wanted.id || "");
  }

  function becomeAttributes(here, wanted) {
    // What a person opened stays open, whatever the server would begin with.
    const kept = (name) => here.nodeName === "DETAILS" && name === "open";
    for (const { name, value } of wanted.attributes) {
      if (!kept(name) && here.getAttribute(name) !== value) here.setAttribute(name, value);
    }
    for (const { name } of [...here.attributes]) {
      if (!kept(name) && !wanted.hasAttribute(name)) here.removeAttribute(name);
    }
  }

  function become(here, wanted) {
    if (here.nodeType !== Node.ELEMENT_NODE) {
      if (here.nodeValue !== wanted.nodeValue) here.nodeValue = wanted.nodeValue;
      return;
    }
    becomeAttributes(here, wanted);
    let next = here.firstChild;
    for (const child of [...wanted.childNodes]) {
      let found = next && alike(next, child) ? next : null;
      if (!found && child.id) {
        const elsewhere = document.getElementById(child.id);
        if (elsewhere && elsewhere.parentNode === here && alike(elsewhere, child)) found = elsewhere;
      }
      if (!found) {
        here.insertBefore(document.importNode(child, true), next);
      } else {
        if (found === next) next = next.nextSibling;
        else here.insertBefore(found, next);
        become(found, child);
      }
    }
    while (next) {
      const after = next.nextSibling;
      next.remove();
      next = after;
    }
  }

  // The card or section at the top of the window stays where it is when something above it grows.
  function holdStill(change) {
    const focused = document.activeElement;
    const marks = window.scrollY > 0 ? [...document.querySelectorAll("article[id], section[id]")] : [];
    const mark = marks.filter((each) => each.getBoundingClientRect().bottom > 0)
      .sort((a, b) => Math.abs(a.getBoundingClientRect().top) - Math.abs(b.getBoundingClientRect().top))[0];
    const before = mark ? mark.getBoundingClientRect().top : 0;
    change();
    if (mark && mark.isConnected) {
      window.scrollBy({ top: mark.getBoundingClientRect().top - before, behavior: "instant" });
    }
    if (focused && focused !== document.activeElement && focused.isConnected) {
      focused.focus({ preventScroll: true });
    }
  }

  function show(fresh) {
    const view = document.getElementById("view");
    if (fresh.dataset.build !== view.dataset.build) {
      window.location.reload();
      return;
    }
    holdStill(() => become(view, fresh));
    document.title = view.dataset.title;
    const icon = document.getElementById("icon");
    if (icon.getAttribute("href") !== view.dataset.icon) icon.setAttribute("href", view.dataset.icon);
  }

  function showLost() {
    const note = document.getElementById("lost-connection");
    note.textContent = "Connection to Mirrorwatch lost since " + clock(lostSince) +
      ". The page below is older.";
    note.hidden = false;
    document.body.classList.add("is-lost");
    document.title = "connection lost · mirrorwatch";
  }

  async function refresh() {
    if (fetching) return;
    fetching = true;
    try {
      // A page that has no short form is fetched whole. It is the page that counts, not the status: what
      // cannot be shown just now is said on it.
      const here = document.getElementById("view").hasAttribute("data-whole");
      const address = here ? window.location.href : "/view";
      const answer = await fetch(address, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("view");
      if (!fresh) throw new Error("this is not the view");
      lostSince = null;
      document.body.classList.remove("is-lost");
      show(fresh);
    } catch {
      lostSince = lostSince || new Date();
      showLost();
    } finally {
      fetching = false;
    }
  }

  async function tick() {
    window.clearTimeout(timer);
    if (document.hidden) return;
    await refresh();
    window.clearTimeout(timer);
    if (!document.hidden) timer = window.setTimeout(tick, EVERY_MS);
  }

  document.addEventListener("visibilitychange", tick);
  timer = window.setTimeout(tick, EVERY_MS);
})();
