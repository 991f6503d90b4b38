// Smoother pages: parts are replaced without a navigation, slow parts are fetched later, changes are followed. Every
// page works without this script, by plain links and forms; the attributes are listed in frame.py.
"use strict";
const opened = performance.now();
const parse = (text) => new DOMParser().parseFromString(text, "text/html");

// Change `old` into `fresh` with as few changes as possible, so that focus, typed text and live regions survive.
function morph(old, fresh) {
  const same = old.nodeType === 1 && fresh.nodeType === 1 && old.nodeName === fresh.nodeName && old.id === fresh.id;
  if (!same) {
    if (!old.isEqualNode(fresh)) old.replaceWith(fresh);
    return;
  }
  if (old.dataset.load || fresh.dataset.load) { // its content was, or is to be, fetched
    if (old.dataset.load !== fresh.dataset.load) old.replaceWith(fresh);
    return;
  }
  if (old.nodeName === "INPUT" && old.type !== "checkbox" && !old.isEqualNode(fresh)) { old.replaceWith(fresh); return; }
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (old.type === "checkbox") old.checked = fresh.defaultChecked;
  morphChildren(old, fresh);
}

function morphChildren(old, fresh) {
  const before = [...old.childNodes], after = [...fresh.childNodes];
  after.forEach((child, place) => (place < before.length ? morph(before[place], child) : old.append(child)));
  for (const child of before.slice(after.length)) child.remove();
}

// Replace the element `id`, or the content of the element `into`, by the element `id` of a page.
function showPart(text, id, into) {
  const page = parse(text), fresh = page.getElementById(id);
  if (!fresh) return false;
  if (into) { document.getElementById(into).replaceChildren(fresh); fresh.scrollIntoView(); }
  else morph(document.getElementById(id), fresh);
  if (id === "content") document.title = page.title;
  ready();
  return true;
}

// Fetch an address; while the server does not answer, a line at the foot of the page says so.
let leaving = false;
addEventListener("pagehide", () => { leaving = true; });
async function request(address, options) {
  const line = document.querySelector(".stopped");
  try {
    const answer = await fetch(address, options);
    line?.remove();
    return answer;
  } catch (error) {
    if (!line && !leaving) {
      const added = document.createElement("p");
      added.className = "stopped problem";
      added.setAttribute("role", "alert");
      added.textContent = "The server does not answer: it was stopped, or it cannot be reached.";
      document.body.append(added);
    }
    throw error;
  }
}

// Fetch a page for a link or a form, and show the part of it that the element names.
async function fetchPart(element, address, options = {}) {
  const { part, into } = element.dataset;
  let answer;
  try { answer = await request(address, options); } catch { return; }
  const text = await answer.text();
  const moved = part === "content" && answer.redirected && new URL(answer.url).pathname !== location.pathname;
  if (moved) scrollTo(0, 0); // before the tour scrolls to what it explains
  if (!answer.headers.get("content-type")?.startsWith("text/html") || !showPart(text, part, into)) {
    const place = element.querySelector?.(".problem");
    if (place) place.textContent = text.slice(0, 200); else location.assign(answer.url);
    return;
  }
  if (moved) history.pushState(null, "", answer.url);
  else if (part === "stepper" && location.pathname === "/replay") history.replaceState(null, "", address);
}

async function load(place) {
  const every = Number(place.dataset.every);
  let version = "";
  do {
    try {
      const answer = await request(place.dataset.load + (version && `&version=${version}`));
      if (answer.status === 200) {
        const fresh = place.cloneNode(false);
        fresh.innerHTML = await answer.text();
        version = answer.headers.get("x-version") ?? "";
        morphChildren(place, fresh);
        ready();
      }
    } catch { /* the server has stopped, or starts again: the next look may succeed */ }
    if (every) await new Promise((resolve) => setTimeout(resolve, every));
  } while (every && place.isConnected);
}

// Wait for a change of the page that nothing here has caused, and show it.
let following = null;
async function follow(address) {
  while (following === address) {
    try {
      const answer = await request(address);
      if (following !== address) return;
      if (!answer.ok || (await answer.json()).changed) {
        following = null;
        const page = await request(location.pathname.replace(/\/(act|say|next)$/, ""));
        showPart(await page.text(), "content");
        return;
      }
    } catch { await new Promise((resolve) => setTimeout(resolve, 3000)); }
  }
}

const loading = new WeakSet(), focused = new WeakSet();
function ready() {
  for (const place of document.querySelectorAll("[data-load]")) {
    if (loading.has(place)) continue;
    loading.add(place);
    load(place);
  }
  const address = document.getElementById("content").dataset.follow ?? null;
  if (address !== following) { following = address; if (address) follow(address); }
  const wanted = document.querySelector("main [autofocus]");
  if (wanted && !focused.has(wanted)) {
    const over = Boolean(wanted.closest(".next")); // the result is read from its top
    focused.add(wanted);
    wanted.focus({ preventScroll: over });
    if (over) scrollTo(0, 0);
  } else if (document.activeElement === document.body || document.activeElement.disabled) {
    document.querySelector(".game, .stepper")?.focus({ preventScroll: true });
  }
  for (const play of document.querySelectorAll("[data-play]")) play.hidden = false;
  const log = document.querySelector(".log");
  if (log) log.scrollTop = log.scrollHeight;
  document.dispatchEvent(new Event("shown"));
}

document.addEventListener("submit", (event) => {
  const form = event.target, button = event.submitter ?? form.querySelector("[type=submit]");
  if (form.dataset.sent) { event.preventDefault(); return; }
  const field = form.elements.namedItem("browser"); // how long the page was open, by the browser's clock
  if (field) field.value = String(Math.round(performance.now() - opened));
  if (!form.dataset.part) { form.dataset.sent = "yes"; return; }
  event.preventDefault();
  const data = new FormData(form, event.submitter);
  const table = form.dataset.table && document.getElementById(form.dataset.table);
  if (table) {
    for (const [name, value] of new FormData(table)) if (name === "keep" || name === "message") data.append(name, value);
    data.append("laid", "1");
  }
  const fields = new URLSearchParams(data), get = form.method === "get", text = button?.textContent;
  if (form.dataset.busy && button) { button.disabled = true; button.textContent = form.dataset.busy; }
  form.dataset.sent = "yes";
  const options = get ? {} : { method: "POST", body: fields };
  fetchPart(form, get ? `${form.action}?${fields}` : form.action, options).finally(() => {
    delete form.dataset.sent;
    if (form.dataset.busy && button) { button.disabled = false; button.textContent = text; }
  });
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-part]");
  if (link?.href && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    if (event.isTrusted) stopPlaying();
    fetchPart(link, link.href);
    return;
  }
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    const address = location.origin + copy.dataset.copy, place = copy.parentElement.querySelector("[role=status]");
    const ask = () => prompt("The link to this game", address);
    if (!navigator.clipboard) ask();
    else navigator.clipboard.writeText(address).then(() => { place.textContent = "The link is copied."; }, ask);
  }
  const play = event.target.closest("[data-play]");
  if (play) { if (playing) stopPlaying(); else startPlaying(); }
});

// A name to search for is typed over the one that is there.
document.addEventListener("focusin", (event) => { if (event.target.matches("input[list]")) event.target.select(); });

document.addEventListener("change", (event) => {
  const { target } = event, form = target.closest("form[data-auto]");
  if (form) form.requestSubmit();
  const typed = target.name === "partner" && document.querySelector("[name=typed]"); // a study asks about a partner too
  if (typed) typed.value = "";
  if (target.name === "typed") for (const radio of document.querySelectorAll("[name=partner]")) if (target.value) radio.checked = false;
  if (target.dataset.record !== undefined && target.files[0]) {
    // A game is one line of a thousand characters or two; the rest of the file stays with the browser.
    target.files[0].slice(0, 20000).text().then((text) => {
      target.form.elements.record.value = text.split("\n")[0];
      target.value = "";
      target.form.requestSubmit();
    });
  }
});

// The replay: arrow keys follow its links, and it may advance by itself.
const PACE = 1600; // milliseconds a step
let playing = null;
function stepBy(key) {
  const link = document.querySelector(`.stepper [data-key="${key}"]`);
  link?.click();
  return Boolean(link);
}
function startPlaying() {
  const again = !document.querySelector('.stepper [data-key="ArrowRight"]');
  if (again) stepBy("Home");
  playing = setInterval(() => { if (!stepBy("ArrowRight")) stopPlaying(); showPlaying(); }, PACE);
  showPlaying();
}
function stopPlaying() {
  clearInterval(playing);
  playing = null;
  showPlaying();
}
function showPlaying() {
  for (const play of document.querySelectorAll("[data-play]")) play.textContent = playing ? "Pause" : "Play";
}
document.addEventListener("shown", () => {
  showPlaying();
  const stepper = document.querySelector(".stepper[data-plays]");
  if (stepper) { delete stepper.dataset.plays; stopPlaying(); startPlaying(); }
});
document.addEventListener("keydown", (event) => {
  if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (!document.querySelector(".stepper") || !["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) return;
  event.preventDefault();
  stopPlaying();
  stepBy(event.key);
});
addEventListener("popstate", () => location.reload());
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
ready();
