// The table: every item is a button that slides between the person's side, below, and the partner's, above.
"use strict";

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

class Board {
  constructor(scenario, seat, onChange) {
    this.counts = scenario.counts;
    this.values = scenario.utilities[seat];
    this.onChange = onChange;
    const most = Math.max(...this.counts);
    this.columns = most <= 4 ? 2 : most <= 9 ? 3 : 4;
    this.mine = this.counts.map((count) => Array(count).fill(true));
    this.theirs = tag("span");
    this.ours = tag("span");
    this.bar = tag("i");
    this.total = tag("strong", { "aria-live": "polite" });
    this.tokens = this.counts.map((count, lane) => Array.from({ length: count }, (_, place) => this.token(lane, place)));
    const style = `--rows:${Math.ceil(most / this.columns)};--columns:${this.columns}`;
    this.element = tag("div", { class: "board", style },
      tag("p", { class: "side they" }, tag("b", {}, "They get"), this.theirs),
      tag("div", { class: "lanes" }, ...this.counts.map((_, lane) => this.lane(lane))),
      tag("p", { class: "side me" }, tag("b", {}, "You keep"), this.ours,
        tag("span", { class: "bar", "aria-hidden": "true" }, this.bar), this.total));
    this.lay(this.counts.map((count, lane) => (this.values[lane] ? count : 0)));
  }

  lane(lane) {
    const rate = tag("p", { class: "rate" },
      tag("span", {}, `${ITEMS[lane]}s`), tag("b", {}, `${points(this.values[lane])} each`));
    return tag("div", { class: "lane", role: "group", "aria-label": `${ITEMS[lane]}s` }, ...this.tokens[lane], rate);
  }

  token(lane, place) {
    const style = `--x:${place % this.columns};--y:${Math.floor(place / this.columns)}`;
    const flip = () => {
      this.mine[lane][place] = !this.mine[lane][place];
      this.show();
      this.onChange();
    };
    return tag("button", { type: "button", class: "token", style, click: flip }, tag("span", { class: `glyph ${ITEMS[lane]}` }));
  }

  get kept() {
    return this.mine.map((lane) => lane.filter(Boolean).length);
  }

  // Move as few items as it takes until `kept` lies on the person's side.
  lay(kept) {
    this.mine.forEach((lane, number) => {
      for (let place = 0; place < lane.length; place++) {
        const held = lane.filter(Boolean).length;
        if (held === kept[number]) break;
        lane[held < kept[number] ? place : lane.length - 1 - place] = held < kept[number];
      }
    });
    this.show();
  }

  // Take one more of an item type (1), or give one (-1), if there is one.
  shift(lane, by) {
    const wanted = this.kept;
    wanted[lane] = clip(wanted[lane] + by, 0, this.counts[lane]);
    this.lay(wanted);
    this.onChange();
  }

  freeze(frozen) {
    for (const token of this.tokens.flat()) token.disabled = frozen;
  }

  show() {
    this.tokens.forEach((lane, number) => lane.forEach((token, place) => {
      const ours = this.mine[number][place];
      token.classList.toggle("mine", ours);
      token.setAttribute("aria-pressed", String(ours));
      const what = `${ITEMS[number]} ${place + 1} of ${lane.length}, worth ${points(this.values[number])} to you: keep it`;
      token.setAttribute("aria-label", what);
    }));
    const own = worth(this.values, this.kept), most = worth(this.values, this.counts);
    this.theirs.textContent = inWords(rest(this.counts, this.kept));
    this.ours.textContent = inWords(this.kept);
    this.total.textContent = `${own} of ${points(most)}`;
    this.bar.style.width = `${(100 * own) / Math.max(most, 1)}%`;
  }
}
