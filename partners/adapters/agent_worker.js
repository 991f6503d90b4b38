// The worker process of programs in JavaScript: see partners/adapters/agents.py for the protocol.
//
// In the challenge each game had its own process. Here a program is evaluated again for each game, inside a function, so
// that its own variables are those of the game; the games of a program share one context, because making one takes a
// hundred times as long, and the rows of a request are played in one call of it. A program that sets a global variable
// gets a context for each game from then on, and the call that set it is played again. A program cannot load modules.
// Its random numbers come from the game's seed, and its clock advances by one millisecond each time that it is read, so
// that a game does not depend on the machine.
'use strict';
const readline = require('readline');
const vm = require('vm');

const MOST_ALONE = 500; // games with a context of their own
const TOGETHER = 64; // rows of a call
const programs = new Map(); // by digest: {script, table, alone, slowest: milliseconds of a row}
const waiting = new Map(); // contexts of single games, by program, game and the partner's offers

const PRELUDE = new vm.Script(`(() => {
  const {parse, stringify} = JSON, {isArray, from} = Array, START = 1533340799000; // the challenge's deadline
  const games = new Map(); // by game and the partner's offers: {agent, state, time}
  let state = 0, time = 0;
  Math.random = () => { // mulberry32
    state = state + 0x6D2B79F5 | 0;
    let t = Math.imul(state ^ state >>> 15, 1 | state);
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
    return ((t ^ t >>> 14) >>> 0) / 4294967296;
  };
  const Clock = Date;
  Date = class extends Clock {
    constructor(...parts) { if (parts.length) super(...parts); else super(time++); }
    static now() { return time++; }
  };
  function begin(seat, counts, values, rounds, seed) {
    [state, time] = [seed, START];
    const module = {exports: {}};
    __program.call(module.exports, module.exports, module);
    return {agent: new module.exports(seat, counts, values, rounds, () => {}), state, time};
  }
  function play(row, most) {
    const [rounds, offers] = [row[3], row.pop()], game_key = stringify(row);
    const [before, after] = [offers.slice(0, -1), offers].map(part => game_key + stringify(part));
    const first = games.has(before) ? offers.length - 1 : 0;
    const game = games.get(before) || begin(...row);
    games.delete(before);
    let reply;
    ({state, time} = game);
    for (const offer of offers.slice(first)) reply = offer === null ? game.agent.offer() : game.agent.offer(offer);
    reply = isArray(reply) ? from(reply) : reply ? String(reply) : null;
    if (reply !== null && offers.length < rounds) {
      Object.assign(game, {state, time});
      games.set(after, game);
      if (games.size > most) games.delete(games.keys().next().value);
    }
    return reply;
  }
  function describe(error) {
    try { return String(error).split('\\n')[0].slice(0, 200) || 'an error'; } catch { return 'an error without a text'; }
  }
  return (rows, most) => parse(rows).map(row => {
    try { return stringify([play(row, most), '']); } catch (error) { return stringify([null, describe(error)]); }
  });
})()`);
const PLAY = new vm.Script('__answers = __play(__rows, __most)');

function makeTable(program) {
  const silent = Object.create(console);
  for (const method of ['log', 'info', 'debug', 'warn', 'error', 'trace', 'dir', 'table']) silent[method] = () => {};
  const context = vm.createContext({
    console: silent, Buffer, __answers: 0, __most: 0, __play: 0, __program: 0, __rows: 0,
  });
  context.global = context;
  context.__play = PRELUDE.runInContext(context);
  context.__program = program.script.runInContext(context);
  return {context, names: Object.keys(context).length};
}

// The answers to rows of a program, each a line of JSON; throws where they take longer than `limit` milliseconds. At
// most `kept` of its games wait for an offer.
function answer(program, table, rows, limit, kept) {
  Object.assign(table.context, {__rows: JSON.stringify(rows), __most: kept});
  PLAY.runInContext(table.context, {timeout: limit});
  if (Object.keys(table.context).length !== table.names) program.alone = true;
  return Array.from(table.context.__answers, String);
}

function answerAlone(program, digest, row, limit) {
  const [key, offers] = [digest + JSON.stringify(row.slice(0, 5)), row[5]];
  const before = key + JSON.stringify(offers.slice(0, -1));
  const table = waiting.get(before) || makeTable(program);
  waiting.delete(before);
  const answers = answer(program, table, [row], limit, 1);
  if (offers.length < row[3] && !answers[0].startsWith('[null')) waiting.set(key + JSON.stringify(offers), table);
  if (waiting.size > MOST_ALONE) waiting.delete(waiting.keys().next().value);
  return answers[0];
}

// As many rows in one call as a quarter of the limit is expected to be enough for, so that slow programs are not cut off.
function answers(program, digest, rows, limit, kept) {
  const all = [];
  while (all.length < rows.length) {
    const size = program.alone ? 1 : Math.max(1, Math.min(TOGETHER, Math.floor(limit / 4 / program.slowest)));
    const part = rows.slice(all.length, all.length + size), began = performance.now();
    try {
      if (program.alone) { all.push(answerAlone(program, digest, part[0], limit)); continue; }
      program.table = program.table || makeTable(program);
      const together = answer(program, program.table, part, limit, kept);
      program.slowest = Math.max(program.slowest, (performance.now() - began) / part.length);
      if (!program.alone) all.push(...together); // otherwise it has just set a global variable
    } catch (error) {
      program.table = null; // its games begin again
      program.slowest = limit;
      if (part.length === 1) all.push(JSON.stringify([null, `it took more than ${limit} ms`]));
    }
  }
  return all;
}

readline.createInterface({input: process.stdin}).on('line', line => {
  const request = JSON.parse(line);
  let lines;
  if (request.do === 'load') {
    const text = request.text.slice(/^\ufeff?(#![^\r\n]*)?/.exec(request.text)[0].length);
    try {
      const script = new vm.Script(`(function(exports, module){${text}\n})`, {filename: request.name});
      programs.set(request.program, {script, table: null, alone: false, slowest: 0.01});
      lines = ['{}'];
    } catch (error) { lines = [JSON.stringify({error: String(error).split('\n')[0].slice(0, 200)})]; }
  } else {
    const {program, rows, limit, kept} = request;
    lines = answers(programs.get(program), program, rows, Math.ceil(1000 * limit), kept);
  }
  process.stdout.write(lines.map(text => text + '\n').join(''));
});
