// The page: choose a partner, sort the items, talk, and see where the deal landed. The form and the table are markup of
// the served page (templates); this fills them.
"use strict";

const SCENARIOS = JSON.parse(document.getElementById("scenarios").textContent);
const OPPONENTS = JSON.parse(document.getElementById("partners").textContent);
const STAGE = document.getElementById("stage");
const ACTS = { PROPOSE, INSIST, AGREE, DISAGREE, END };
const CALM = matchMedia("(prefers-reduced-motion: reduce)").matches;
const played = []; // of this sitting: {mine, theirs, deal} in points of ten
let choice = null; // the fields of the form
let game = null;

// Uniforms in [0, 1): the random numbers of a partner's turn.
function uniforms() {
  return Array.from(crypto.getRandomValues(new Uint32Array(8)), (number) => number / 2 ** 32);
}

// The number of a generated program, below 2**53.
function anyProgram() {
  const [high, low] = uniforms();
  return Math.floor(high * 2 ** 21) * 2 ** 32 + low * 2 ** 32;
}

const below = (number) => Math.floor(uniforms()[0] * number);
const titled = (name) => (name === "generated" ? "a stranger" : name.replaceAll("_", " "));
const copyOf = (id) => document.getElementById(id).content.firstElementChild.cloneNode(true);

// An HTML element; an attribute that is null or false is left out, a function is a listener.
function tag(name, attributes = {}, ...inside) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...inside.filter((part) => part !== null));
  return element;
}

function show(part) {
  STAGE.replaceChildren(part);
  scrollTo(0, 0);
}

// The form

function choose() {
  game = null;
  const setup = copyOf("setup"), form = setup.querySelector("form"), { other } = form.elements;
  const describe = () => { setup.querySelector(".chosen").textContent = OPPONENTS[other.value]?.sentence ?? ""; };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    choice = Object.fromEntries(new FormData(form));
    played.length = 0;
    dealItems();
  });
  form.addEventListener("change", ({ target }) => {
    if (target.name === "partner") other.value = "";
    else if (target === other && other.value) for (const radio of form.elements.partner) radio.checked = false;
    describe();
  });
  if (choice) {
    for (const [name, value] of Object.entries(choice)) form.elements[name].value = value;
    if (choice.other) { setup.querySelector("details").open = true; for (const radio of form.elements.partner) radio.checked = false; }
    describe();
  }
  show(setup);
}

// The game

function dealItems(seat = choice.seat === "random" ? below(2) : Number(choice.seat), scenario = anyScenario(), program = anyProgram()) {
  const rules = { maxTurns: Number(choice.max_turns), disagree: choice.disagree };
  const name = choice.other || choice.partner || "prosocial";
  game = { state: newGame(scenario, rules), seat, name, parameters: { ...OPPONENTS[name].parameters, program } };
  layOut();
  step();
}

function anyScenario() {
  const [counts, ...utilities] = SCENARIOS[below(SCENARIOS.length)];
  return { counts, utilities };
}

function layOut() {
  const section = copyOf("table"), { counts, utilities } = game.state.scenario, values = utilities[game.seat];
  const part = (selector) => section.querySelector(selector);
  Object.assign(game, { section, hand: part(".hand"), headline: part("h1"), problem: part(".problem"), confirm: part(".confirm"),
    thinking: part(".thinking"), lines: part(".lines"), log: part(".log"), form: part("form") });
  Object.assign(section.dataset, { seat: game.seat, pool: JSON.stringify(counts), values: JSON.stringify(values) });
  const facts = section.querySelectorAll(".facts span"), partner = titled(game.name);
  facts[0].textContent = `with ${partner}`;
  facts[1].textContent = game.seat === 0 ? "you open" : "they open";
  game.time = facts[2];
  part(".leave").addEventListener("click", choose);
  game.thinking.querySelector("span").textContent = `${partner} is thinking`;
  const most = Math.max(...counts), columns = most <= 4 ? 2 : most <= 9 ? 3 : 4, board = part(".board");
  board.style = `--rows:${Math.ceil(most / columns)};--columns:${columns}`;
  section.querySelectorAll(".lane").forEach((lane, item) => {
    const token = lane.querySelector(".token");
    for (let place = counts[item] - 1; place >= 0; place--) {
      const copy = token.cloneNode(true), box = copy.querySelector("input");
      copy.style = `--x:${place % columns};--y:${Math.floor(place / columns)}`;
      box.setAttribute("aria-label", `${ITEMS[item]} ${place + 1} of ${counts[item]}, worth ${points(values[item])} to you: keep it`);
      box.checked = values[item] > 0;
      token.after(copy);
    }
    token.remove();
    lane.querySelector("b").textContent = `${points(values[item])} each`;
  });
  game.form.addEventListener("submit", (event) => { event.preventDefault(); press(ACTS[event.submitter.value]); });
  game.confirm.hidden = true;
  game.confirm.querySelector(".no").addEventListener("click", () => { game.confirm.hidden = true; section.focus({ preventScroll: true }); });
  show(section);
  section.focus({ preventScroll: true });
}

// Continue: the partner acts after a moment, or the person is to move.
function step() {
  const { state, seat, section } = game, current = game;
  const ours = !state.outcome && mover(state) === seat;
  for (const box of section.querySelectorAll(".board input")) box.disabled = !ours;
  game.time.textContent = timeLeft(state);
  section.querySelector(".pips").replaceChildren(...Array.from({ length: Math.min(state.rules.maxTurns, 20) }, (_, turn) =>
    tag("i", { class: turn < state.history.length ? (turn % 2 === seat ? "me" : "they") : null })));
  game.confirm.hidden = true;
  label(ours);
  if (state.outcome) return over();
  game.thinking.hidden = ours;
  game.headline.textContent = ours ? headline(state, seat) : "They are thinking …";
  if (!ours) setTimeout(() => { if (game === current) speak(); }, CALM ? 0 : 650);
}

function speak() {
  const { state, name, parameters } = game;
  play(PARTNERS[name](view(state, uniforms()), parameters));
}

function play(action) {
  const { state, seat, name } = game, turn = state.history.length, { counts, utilities } = state.scenario;
  game.state = apply(state, action);
  const mine = turn % 2 === seat, text = inEnglish(action, counts, turn, state.rules.disagree === "ends");
  const share = action.act <= INSIST ? worth(utilities[seat], mine ? action.oA : rest(counts, action.oA)) : null;
  game.lines.append(tag("li", { class: mine ? "me" : "they" },
    tag("span", { class: "who" }, mine ? "You" : titled(name)), tag("p", {}, text),
    share === null ? null : tag("small", {}, `${points(share)} for you`)));
  game.log.scrollTop = 1e6;
  step();
}

// Label the buttons by what each act would mean with the split on the table.
function label(ours) {
  const { state, seat, section } = game, { counts, utilities } = state.scenario;
  const mask = ours ? actMask(state) : [], claim = state.claims[1 - seat], ends = state.rules.disagree === "ends";
  const offered = claim && worth(utilities[seat], rest(counts, claim));
  const fits = claim && state.claims[seat] && rest(counts, claim).every((left, item) => left === state.claims[seat][item]);
  const details = {
    AGREE: ["Accept", claim ? `their offer, ${points(offered)} for you` : "nothing is on offer"],
    DISAGREE: ends ? ["Walk away", "no deal, no points"] : ["Turn down", "their offer; the talk goes on"],
    END: ["Stop talking", fits ? "now: the claims fit, a deal" : "now: no deal, no points"],
  };
  section.querySelector(".acts").dataset.offered = offered ?? 0;
  for (const button of section.querySelectorAll(".act")) {
    button.disabled = !mask[ACTS[button.value]];
    button.classList.remove("primary");
    const words = details[button.value];
    if (words) [button.querySelector("b").textContent, button.querySelector("small").textContent] = words;
  }
  game.problem.textContent = "";
  showSplit(section);
}

// What the person risks with an act, in a sentence; empty if it cannot leave them with nothing.
function risk(act, kept) {
  const { state, seat } = game, { counts, utilities } = state.scenario, claim = state.claims[1 - seat];
  if (act === AGREE && worth(utilities[seat], rest(counts, claim)) === 0) return "Their offer is worth nothing to you.";
  if (act <= INSIST && worth(utilities[seat], kept) === 0) return "This leaves nothing of worth to you.";
  if (act === DISAGREE && state.rules.disagree === "ends") return "This ends the game: no deal, nothing for both.";
  return act === END ? "This ends the talk: the latest claims count." : "";
}

function press(act) {
  const kept = act <= INSIST ? keptOf(game.section) : [0, 0, 0], why = risk(act, kept), { confirm } = game;
  const go = () => { play({ act, oA: kept }); if (game && !game.state.outcome) game.section.focus({ preventScroll: true }); };
  if (!why) { go(); return; }
  confirm.hidden = false;
  confirm.querySelector("p").textContent = `${why} Really?`;
  confirm.querySelector(".yes").onclick = go;
  confirm.querySelector(".no").focus();
}

document.querySelector(".brand").addEventListener("click", (event) => { event.preventDefault(); choose(); });
choose();
