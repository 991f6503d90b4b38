// The bargaining table: the worth of the split as it is chosen, and the keys. Its markup is in bargaining_table.py.
"use strict";
const ITEMS = ["book", "hat", "ball"];

const points = (number) => `${number} point${number === 1 ? "" : "s"}`;

// "2 books, 1 hat"; no items are "nothing". As in dond_marl/records/transcript.py.
function inWords(some) {
  const named = ITEMS.map((item, place) => (some[place] ? `${some[place]} ${item}${some[place] === 1 ? "" : "s"}` : null));
  return named.filter(Boolean).join(", ") || "nothing";
}

const tokensOf = (game) => ITEMS.map((_, item) => [...game.querySelectorAll(`.board input[value="${item}"]`)]);
const keptOf = (game) => tokensOf(game).map((tokens) => tokens.filter((token) => token.checked).length);

// Show what the split on the table is worth, and highlight the better of Propose and Accept.
function showSplit(game) {
  const values = JSON.parse(game.dataset.values), pool = JSON.parse(game.dataset.pool), mine = keptOf(game);
  const worthOf = (items) => items.reduce((sum, number, item) => sum + number * values[item], 0);
  const own = worthOf(mine), most = worthOf(pool), board = game.querySelector(".board");
  board.querySelector(".side.they span").textContent = inWords(pool.map((number, item) => number - mine[item]));
  board.querySelector(".side.me > span").textContent = inWords(mine);
  board.querySelector(".side.me strong").textContent = `${own} of ${points(most)}`;
  board.querySelector(".side.me .bar i").style.width = `${(100 * own) / Math.max(most, 1)}%`;
  const label = board.querySelector(".shown-split"), theirs = board.dataset.offered === mine.join(",");
  if (label) label.textContent = theirs ? "Their offer" : "Your draft";
  board.querySelector(".side.they [data-lay]")?.toggleAttribute("hidden", theirs);
  const propose = game.querySelector(".act.propose"), agree = game.querySelector(".act.agree");
  if (!propose || propose.disabled) return;
  const { offered, last } = game.querySelector(".acts").dataset, insist = game.querySelector(".act.insist small");
  const worth = last && !theirs ? last : `this split, ${points(own)} for you`;
  propose.querySelector("small").textContent = worth;
  if (last && insist) insist.textContent = worth;
  const accept = Boolean(agree) && !agree.disabled && offered > 0 && (Boolean(last) || offered >= own);
  propose.classList.toggle("primary", !accept);
  agree?.classList.toggle("primary", accept);
}

// Move as few items as it takes until `kept` lies on the person's side.
function laySplit(game, kept) {
  tokensOf(game).forEach((tokens, item) => {
    for (let place = 0; place < tokens.length; place++) {
      const held = tokens.filter((token) => token.checked).length;
      if (held === kept[item]) break;
      tokens[held < kept[item] ? place : tokens.length - 1 - place].checked = held < kept[item];
    }
  });
  showSplit(game);
}

document.addEventListener("change", (event) => {
  if (event.target.closest(".board")) showSplit(event.target.closest(".game"));
});
document.addEventListener("click", (event) => {
  const lay = event.target.closest("[data-lay]");
  if (lay) laySplit(lay.closest(".game"), lay.dataset.lay.split(",").map(Number));
});
document.addEventListener("keydown", (event) => {
  const game = document.querySelector(".game");
  if (!game || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") { game.querySelector(".confirm .no")?.click(); return; }
  if (event.target.matches("input:not([type=checkbox]), select, textarea")) return;
  const digit = /^Digit([123])$/.exec(event.code), token = game.querySelector(".board input");
  if (digit && token && !token.disabled) {
    const kept = keptOf(game), item = Number(digit[1]) - 1, most = JSON.parse(game.dataset.pool)[item];
    kept[item] = Math.min(Math.max(kept[item] + (event.shiftKey ? -1 : 1), 0), most);
    laySplit(game, kept);
  } else if (/^[apide]$/.test(event.key)) game.querySelector(`.act[aria-keyshortcuts="${event.key}"]:enabled`)?.click();
  else if (event.key === "t" && game.querySelector(".say [name=words]")) game.querySelector(".say [name=words]").focus();
  else return;
  event.preventDefault();
});
