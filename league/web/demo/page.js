// The page: choose a partner, sort the items, talk, and see where the deal landed.
"use strict";

const SCENARIOS = JSON.parse(document.getElementById("scenarios").textContent);
const PEOPLE = JSON.parse(document.getElementById("partners").textContent);
const STAGE = document.getElementById("stage");
const KEYS = { a: AGREE, p: PROPOSE, i: INSIST, d: DISAGREE, e: END };
const CALM = matchMedia("(prefers-reduced-motion: reduce)").matches;
const wish = { partner: "prosocial", seat: "random", disagree: "ends", maxTurns: 10 };
const played = []; // of this sitting: {mine, theirs, deal} in points
let game = null;

// Uniforms in [0, 1), the partner's luck of one turn.
function luck() {
  return Array.from(crypto.getRandomValues(new Uint32Array(8)), (number) => number / 2 ** 32);
}

const below = (number) => Math.floor(luck()[0] * number);

function show(...parts) {
  STAGE.replaceChildren(...parts);
  scrollTo(0, 0);
}

function button(text, click, classes = "button", more = {}) {
  return tag("button", { type: "button", class: classes, click, ...more }, text);
}

// Choosing

function choose() {
  game = null;
  const form = tag("form", { class: "panel choose", submit: begin }, partners(), rules(),
    tag("button", { class: "button primary large", type: "submit" }, "Deal the items"));
  const steps = ["Tap items to push them across the table.", "Propose your split, or accept theirs.",
    "See where the deal landed, and what was possible."];
  show(tag("section", { class: "setup" },
    tag("div", { class: "welcome" },
      tag("h1", {}, "Split the pile."),
      tag("p", {}, "A few books, hats and balls lie between you and a partner. Each of you values them differently, and "
        + "neither sees the other's values. Agree on a split and both score what they get; without a deal both get nothing."),
      tag("ol", { class: "steps" }, ...steps.map((step) => tag("li", {}, step))),
      tag("div", { class: "still", "aria-hidden": "true" },
        ...["book", "hat", "ball", "book", "ball"].map((item) => tag("span", { class: `glyph ${item}` })))),
    form));
}

function partners() {
  const cards = Object.entries(PEOPLE).filter(([, { featured }]) => featured).map(([name, { sentence }]) => {
    const radio = tag("input", { type: "radio", name: "partner", value: name, checked: name === wish.partner,
      change: () => { wish.partner = name; other.value = ""; chosen.textContent = ""; } });
    return tag("label", { class: "card" }, radio, tag("b", {}, titled(name)), tag("span", {}, sentence));
  });
  const rare = Object.entries(PEOPLE).filter(([, { featured }]) => !featured);
  const chosen = tag("p", { class: "quiet chosen" });
  const other = tag("select", { id: "other", change: () => {
    const name = other.value || "prosocial";
    wish.partner = name;
    for (const radio of STAGE.querySelectorAll("[name=partner]")) radio.checked = radio.value === name;
    chosen.textContent = other.value ? PEOPLE[name].sentence : "";
  } }, tag("option", { value: "" }, "—"), ...rare.map(([name]) =>
    tag("option", { value: name, selected: name === wish.partner }, titled(name))));
  if (!PEOPLE[wish.partner].featured) chosen.textContent = PEOPLE[wish.partner].sentence;
  return tag("fieldset", {},
    tag("div", { class: "partners", role: "group", "aria-label": "Your partner" }, ...cards),
    tag("details", { class: "more", open: !PEOPLE[wish.partner].featured },
      tag("summary", {}, "Somebody else"), field("Everybody", other), chosen));
}

function rules() {
  const choices = (key, words) => tag("select", { id: key, change: (event) => { wish[key] = event.target.value; } },
    ...Object.entries(words).map(([value, text]) => tag("option", { value, selected: String(wish[key]) === value }, text)));
  return tag("div", { class: "fields" },
    field("Who opens", choices("seat", { random: "Drawn by lot", 0: "I open", 1: "They open" })),
    field("Saying no", choices("disagree", { ends: "ends the game", rejects: "only turns the offer down" })),
    field("Acts in all", choices("maxTurns", { 4: "4", 6: "6", 10: "10", 20: "20" })));
}

function field(label, control) {
  return tag("div", { class: "field" }, tag("label", { for: control.id }, label), control);
}

const titled = (name) => name.replaceAll("_", " ").replace(/^./, (letter) => letter.toUpperCase());

function begin(event) {
  event.preventDefault();
  played.length = 0;
  dealItems();
}

// Playing

function dealItems(seat = wish.seat === "random" ? below(2) : Number(wish.seat), scenario = anyScenario()) {
  const state = newGame(scenario, { maxTurns: Number(wish.maxTurns), disagree: wish.disagree });
  game = { state, seat, name: wish.partner, armed: null };
  layOut();
  step();
}

function anyScenario() {
  const [counts, ...utilities] = SCENARIOS[below(SCENARIOS.length)];
  return { counts, utilities };
}

function layOut() {
  const { state, seat, name } = game;
  game.headline = tag("h1", { "aria-live": "polite" });
  game.time = tag("span", { title: "An act is one thing that either of you says." });
  game.pips = tag("p", { class: "pips", "aria-hidden": "true" });
  game.lines = tag("ol", { class: "lines" });
  game.log = tag("div", { class: "log", role: "log", tabindex: "0", "aria-label": "Conversation" }, game.lines);
  game.thinking = tag("p", { class: "thinking", hidden: true },
    tag("span", { class: "quiet" }, `${titled(name)} is thinking`), ...[1, 2, 3].map(() => tag("i", { "aria-hidden": "true" })));
  game.board = new Board(state.scenario, seat, label);
  game.problem = tag("p", { class: "problem", role: "alert" });
  game.buttons = [AGREE, PROPOSE, INSIST, DISAGREE, END].map(actButton);
  game.hand = tag("div", { class: "hand" }, tag("div", { class: "table" }, game.board.element),
    tag("div", { class: "acts", role: "group", "aria-label": "What you can say" }, ...game.buttons.map(({ element }) => element)),
    game.problem,
    tag("p", { class: "keys quiet" }, "Keys: 1 2 3 take a book, hat or ball, with Shift give one; letters as shown."));
  game.section = tag("section", { class: "game", tabindex: "-1", "aria-label": "The game", keydown: key },
    tag("header", { class: "status" }, game.headline,
      tag("p", { class: "facts" }, tag("span", {}, `with ${titled(name)}`),
        tag("span", {}, seat === 0 ? "you open" : "they open"), game.time, button("Leave", choose, "link")),
      game.pips),
    tag("section", { class: "talk", "aria-label": "What was said" }, game.log, game.thinking),
    game.hand);
  show(game.section);
  game.section.focus({ preventScroll: true });
}

function actButton(act) {
  const letter = Object.keys(KEYS).find((one) => KEYS[one] === act);
  const name = tag("b"), detail = tag("small");
  const element = tag("button",
    { type: "button", class: `act ${["propose", "insist", "agree", "disagree", "end"][act]}`, "aria-keyshortcuts": letter,
      click: () => press(act) },
    name, detail, tag("kbd", { "aria-hidden": "true" }, letter.toUpperCase()));
  return { act, element, name, detail };
}

// Whose turn it is goes on: the partner speaks after a moment, the person is asked.
function step() {
  const { state, seat, board } = game, now = game;
  const ours = !state.outcome && mover(state) === seat;
  board.freeze(!ours);
  game.time.textContent = timeLeft(state);
  game.pips.replaceChildren(...Array.from({ length: Math.min(state.rules.maxTurns, 20) }, (_, turn) =>
    tag("i", { class: turn < state.history.length ? (turn % 2 === seat ? "me" : "they") : null })));
  label();
  if (state.outcome) return over();
  game.thinking.hidden = ours;
  game.headline.textContent = ours ? headline(state, seat) : "They are thinking …";
  if (!ours) setTimeout(() => { if (game === now) speak(); }, CALM ? 0 : 650);
}

function speak() {
  const { state, name } = game;
  say(PARTNERS[name](view(state, luck()), PEOPLE[name].parameters));
}

function say(action) {
  const { state, seat, name } = game, turn = state.history.length, { counts, utilities } = state.scenario;
  game.state = apply(state, action);
  game.armed = null;
  const mine = turn % 2 === seat, text = inEnglish(action, counts, turn, state.rules.disagree === "ends");
  const share = action.act <= INSIST ? worth(utilities[seat], mine ? action.oA : rest(counts, action.oA)) : null;
  game.lines.append(tag("li", { class: mine ? "me" : "they" },
    tag("span", { class: "who" }, mine ? "You" : titled(name)), tag("p", {}, text),
    share === null ? null : tag("small", {}, `${points(share)} for you`)));
  game.log.scrollTop = 1e6;
  step();
}

// Name the acts by what each would mean with the split on the table.
function label() {
  const { state, seat, board } = game, { counts, utilities } = state.scenario;
  const ours = !state.outcome && mover(state) === seat, mask = ours ? actMask(state) : [];
  const claim = state.claims[1 - seat], offered = claim && worth(utilities[seat], rest(counts, claim));
  const mine = worth(utilities[seat], board.kept), ends = state.rules.disagree === "ends";
  const fits = claim && state.claims[seat] && rest(counts, claim).every((left, item) => left === state.claims[seat][item]);
  const words = {
    [PROPOSE]: ["Propose", `this split, ${points(mine)} for you`],
    [INSIST]: ["Insist", "the same, with more weight"],
    [AGREE]: ["Accept", claim ? `their offer, ${points(offered)} for you` : "nothing is on offer"],
    [DISAGREE]: ends ? ["Walk away", "no deal, no points"] : ["Turn down", "their offer; the talk goes on"],
    [END]: ["Stop talking", fits ? "now: the claims fit, a deal" : "now: no deal, no points"],
  };
  const first = mask[AGREE] && offered && offered >= mine ? AGREE : PROPOSE;
  game.armed = null;
  game.problem.textContent = "";
  for (const { act, element, name, detail } of game.buttons) {
    [name.textContent, detail.textContent] = words[act];
    element.classList.toggle("primary", act === first);
    element.disabled = !mask[act];
  }
}

// Whether an act may leave the person with nothing, so that it is asked for twice.
function grave(act) {
  const { state, seat } = game, { counts, utilities } = state.scenario, claim = state.claims[1 - seat];
  if (act === AGREE) return worth(utilities[seat], rest(counts, claim)) === 0;
  if (act > AGREE) return !(act === DISAGREE && state.rules.disagree === "rejects");
  return worth(utilities[seat], game.board.kept) === 0;
}

function press(act) {
  if (!game || game.state.outcome || mover(game.state) !== game.seat) return;
  if (!actMask(game.state)[act]) {
    game.problem.textContent = "Not legal now: accepting needs an offer as their last act.";
    return;
  }
  if (grave(act) && game.armed !== act) {
    label();
    game.armed = act;
    const { name, detail } = game.buttons.find((one) => one.act === act);
    name.textContent = "Really?";
    detail.textContent = "press again, or do something else";
    return;
  }
  say({ act, oA: act <= INSIST ? game.board.kept : [0, 0, 0] });
  if (game && !game.state.outcome) game.section.focus({ preventScroll: true });
}

function key(event) {
  if (!game || event.ctrlKey || event.metaKey || event.altKey) return;
  const digit = /^Digit([123])$/.exec(event.code), ours = !game.state.outcome && mover(game.state) === game.seat;
  if (digit && ours) game.board.shift(Number(digit[1]) - 1, event.shiftKey ? -1 : 1);
  else if (event.key in KEYS && !event.shiftKey) press(KEYS[event.key]);
  else return;
  event.preventDefault();
}

document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = (root.dataset.theme || (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
  try { localStorage.setItem("theme", root.dataset.theme); } catch (refused) { /* kept for this page alone */ }
});
document.querySelector(".brand").addEventListener("click", (event) => { event.preventDefault(); choose(); });
choose();
