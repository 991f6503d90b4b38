// The worker process of programs in JavaScript: see partners/adapters/agents.py for the protocol.
//
// In the challenge each game had its own process. Here a program is evaluated again for each game, inside a function, so
// that its own variables are those of the game; the games of a program share one context, because making one takes a
// hundred times as long. A program that sets a global variable gets a context for each game from then on, and the call
// that set it is played again. A program cannot load modules. Its random numbers come from the game's seed, and its
// clock advances by one millisecond each time that it is read, so that a game does not depend on the machine.
'use strict';
const readline = require('readline');
const vm = require('vm');

const MOST = {false: 20000, true: 500}; // games that wait for an offer: in a shared context, and in one of their own
const START = 1533340799000; // of the clock: the challenge's deadline
const programs = new Map(); // by digest: {script, table, alone}
const waiting = {false: new Map(), true: new Map()}; // by program, game and the partner's offers: {table, agent, state}

const PRELUDE = new vm.Script(`(() => {
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
  return {save: () => [state, time], restore: saved => { [state, time] = saved; }};
})()`);
const BEGIN = new vm.Script(`{
  const module = {exports: {}};
  __program.call(module.exports, module.exports, module);
  __agent = new module.exports(...JSON.parse(__given), () => {});
}`);
const OFFER = new vm.Script('__reply = __agent.offer(...JSON.parse(__given))');

function makeTable(program) {
  const silent = Object.create(console);
  for (const method of ['log', 'info', 'debug', 'warn', 'error', 'trace', 'dir', 'table']) silent[method] = () => {};
  const context = vm.createContext({console: silent, Buffer, __agent: 0, __given: 0, __program: 0, __reply: 0});
  context.global = context;
  const {save, restore} = PRELUDE.runInContext(context);
  context.__program = program.script.runInContext(context);
  return {context, save, restore, names: Object.keys(context).length};
}

function run(script, program, game, given, limit) {
  const {context, save, restore, names} = game.table;
  context.__agent = game.agent;
  context.__given = JSON.stringify(given);
  restore(game.state);
  try { script.runInContext(context, {timeout: limit}); } finally {
    game.state = save();
    if (!program.alone && Object.keys(context).length !== names) program.alone = true;
  }
  game.agent = context.__agent;
  return context.__reply;
}

function play(program, key, row, limit) {
  const [seat, counts, values, rounds, seed, offers] = row;
  const alone = program.alone, games = waiting[alone];
  const before = key + JSON.stringify(offers.slice(0, -1));
  let game = games.get(before);
  games.delete(before);
  let first = offers.length - 1, reply;
  try {
    if (!game) {
      const table = alone ? makeTable(program) : program.table = program.table || makeTable(program);
      game = {table, agent: 0, state: [seed, START]};
      run(BEGIN, program, game, [seat, counts, values, rounds], limit);
      first = 0;
    }
    for (let i = first; i < offers.length; i++) {
      reply = run(OFFER, program, game, offers[i] === null ? [] : [offers[i]], limit);
    }
  } finally {
    if (alone !== program.alone) return play(program, key, row, limit); // it has just set a global variable
  }
  reply = Array.isArray(reply) ? Array.from(reply) : reply ? String(reply) : null;
  if (reply !== null && offers.length < rounds) {
    games.set(key + JSON.stringify(offers), game);
    if (games.size > MOST[alone]) games.delete(games.keys().next().value);
  }
  return reply;
}

function describe(error) {
  try { return String(error).split('\n')[0].slice(0, 200) || 'an error'; } catch { return 'an error without a text'; }
}

readline.createInterface({input: process.stdin}).on('line', line => {
  const request = JSON.parse(line);
  const answers = [];
  if (request.do === 'load') {
    const text = request.text.slice(/^\ufeff?(#![^\r\n]*)?/.exec(request.text)[0].length);
    try {
      const script = new vm.Script(`(function(exports, module){${text}\n})`, {filename: request.name});
      programs.set(request.program, {script, table: null, alone: false});
      answers.push({});
    } catch (error) { answers.push({error: describe(error)}); }
  } else {
    const program = programs.get(request.program);
    for (const row of request.rows) {
      const key = request.program + JSON.stringify(row.slice(0, 5));
      try { answers.push([play(program, key, row, Math.ceil(1000 * request.limit)), '']); }
      catch (error) { answers.push([null, describe(error)]); }
    }
  }
  process.stdout.write(answers.map(answer => JSON.stringify(answer) + '\n').join(''));
});
