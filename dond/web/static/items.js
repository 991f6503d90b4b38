// Items and points in words, as in dond_marl/records/transcript.py.
"use strict";
const ITEMS = ["book", "hat", "ball"];

const points = (number) => `${number} point${number === 1 ? "" : "s"}`;

// "2 books, 1 hat"; no items are "nothing".
function inWords(some) {
  const named = ITEMS.map((item, place) => (some[place] ? `${some[place]} ${item}${some[place] === 1 ? "" : "s"}` : null));
  return named.filter(Boolean).join(", ") || "nothing";
}
