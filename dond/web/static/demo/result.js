// The end of a game: scores, items, and the result among all possible splits.
"use strict";

function over() {
  const { state, seat, name, parameters } = game, { scores, allocation } = state.outcome, { scenario } = state;
  game.thinking.hidden = true;
  game.headline.textContent = endingText(state, seat);
  const wholes = scenario.utilities.map((values) => worth(values, scenario.counts));
  played.push({ deal: Boolean(allocation), mine: (10 * scores[seat]) / wholes[seat], theirs: (10 * scores[1 - seat]) / wholes[1 - seat] });
  const bars = ["me", "they"].map((side) => {
    const whose = side === "me" ? seat : 1 - seat, width = `width:${(100 * scores[whose]) / wholes[whose]}%`;
    return tag("div", { class: `score ${side}` }, tag("span", { class: "who" }, side === "me" ? "You" : "They"),
      tag("span", { class: "bar" }, tag("i", { style: width })),
      tag("span", {}, tag("b", {}, String(scores[whose])), tag("small", {}, ` of ${points(wholes[whose])}`)));
  });
  const button = (text, click, classes) => tag("button", { type: "button", class: classes, click }, text);
  const again = button("Next game", () => dealItems(), "button primary large");
  const stranger = name === "generated";
  const about = `It was generated(program=${parameters.program}): ${stranger ? described(parameters) : ""}.`;
  game.hand.replaceChildren(
    tag("div", { class: "result" },
      tag("div", { class: "outcome" }, tag("div", { class: "scores" }, ...bars),
        tag("p", { class: "verdict" }, verdict(state, seat)), cards(state, seat)),
      tag("figure", { class: "picture" }, plane(state, seat)),
      stranger ? tag("p", { class: "who-it-was" }, about) : null,
      tally()),
    tag("div", { class: "next" }, again,
      stranger ? button("Meet it again", () => dealItems(undefined, undefined, parameters.program), "button large") : null,
      button("Swap sides", () => dealItems(1 - seat, scenario), "button large"),
      button("Another partner", choose, "button large")));
  again.focus({ preventScroll: true });
  scrollTo({ top: 0, behavior: CALM ? "auto" : "smooth" });
}

// Both lists of values and who got what, open on the table.
function cards(state, seat) {
  const { scenario, outcome } = state, none = [0, 0, 0];
  const got = (whose) => (outcome.allocation ? outcome.allocation[whose] : none);
  const rows = [["on the table", scenario.counts, null], ["worth to you, each", scenario.utilities[seat], "me"],
    ["you got", got(seat), "me got"], ["worth to them, each", scenario.utilities[1 - seat], "they"], ["they got", got(1 - seat), "they got"]];
  return tag("table", { class: "numbers" }, tag("caption", {}, "Cards on the table"),
    tag("thead", {}, tag("tr", {}, tag("td"), ...ITEMS.map((item) => tag("th", { scope: "col" }, `${item}s`)))),
    tag("tbody", {}, ...rows.map(([label, numbers, side]) => tag("tr", { class: side }, tag("th", { scope: "row" }, label),
      ...numbers.map((number) => tag("td", {}, String(number)))))));
}

function tally() {
  if (played.length < 2) return null;
  const mean = (key) => (played.reduce((sum, one) => sum + one[key], 0) / played.length).toFixed(1);
  const deals = played.filter(({ deal }) => deal).length;
  return tag("p", { class: "tally" }, `${played.length} games together, ${deals} deal${deals === 1 ? "" : "s"}: `
    + `you ${mean("mine")}, they ${mean("theirs")} points of ten on average.`);
}

// Where the game landed among all pairs of scores that a split can pay.
function plane(state, seat) {
  const spots = possible(state.scenario, seat), { scores, allocation } = state.outcome;
  const most = [seat, 1 - seat].map((whose) => worth(state.scenario.utilities[whose], state.scenario.counts));
  const x = (mine) => 44 + (300 * mine) / most[0], y = (theirs) => 250 - (230 * theirs) / most[1];
  const draw = (name, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text) element.textContent = text;
    return element;
  };
  const label = `${scores[seat]} points for you, ${scores[1 - seat]} for them; ${verdict(state, seat)}`;
  const chart = draw("svg", { viewBox: "0 0 360 300", class: "chart plane", role: "img", "aria-label": label });
  for (const part of [0, 0.5, 1]) {
    const [across, up] = most.map((whole) => whole * part);
    chart.append(draw("line", { class: "grid", x1: x(across), x2: x(across), y1: y(0), y2: y(most[1]) }),
      draw("line", { class: "grid", x1: x(0), x2: x(most[0]), y1: y(up), y2: y(up) }),
      draw("text", { class: "tick", x: x(across), y: 266, "text-anchor": "middle" }, String(across)),
      draw("text", { class: "tick", x: 36, y: y(up) + 4, "text-anchor": "end" }, String(up)));
  }
  chart.append(draw("text", { class: "axis", x: 194, y: 286, "text-anchor": "middle" }, "points for you"),
    draw("text", { class: "axis", x: 14, y: 135, "text-anchor": "middle", transform: "rotate(-90 14 135)" }, "points for them"));
  const frontier = spots.filter(({ best }) => best).sort((a, b) => a.mine - b.mine);
  chart.append(draw("polyline", { class: "frontier", points: frontier.map(({ mine, theirs }) => `${x(mine)},${y(theirs)}`).join(" ") }));
  for (const { mine, theirs, best } of spots)
    chart.append(draw("circle", { class: best ? "spot best" : "spot", cx: x(mine), cy: y(theirs), r: best ? 4.5 : 2.5 }));
  for (const { mine, theirs } of spots.filter(({ nash }) => nash))
    chart.append(draw("path", { class: "nash", d: `M${x(mine)} ${y(theirs) - 7}l7 7l-7 7l-7 -7Z` }));
  chart.append(draw("circle", { class: allocation ? "landed deal" : "landed", cx: x(scores[seat]), cy: y(scores[1 - seat]), r: 9 }));
  const marks = [[allocation ? "landed deal" : "landed", "this game"], ["best", "the Pareto frontier"], ["nash", "the Nash point"], ["spot", "other splits"]];
  const legend = tag("ul", { class: "legend" }, ...marks.map(([mark, text]) => tag("li", {}, tag("i", { class: `key ${mark}` }), text)));
  return tag("div", {}, chart, tag("figcaption", {}, legend));
}
