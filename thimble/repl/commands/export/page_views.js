"use strict";
// The page of a session, first of four parts of one script: the view of each call.

const data = JSON.parse(document.getElementById("session").textContent);
const { about } = data;
const texts = [];
const NAMES = Object.fromEntries(Object.entries(about.letters).map(([name, letter]) => [letter, name]));
const UNSAID = "the strategy gave no reason";
const SVG = "http://www.w3.org/2000/svg";
const ROOM_FOR_A_LETTER = 12; // pixels

const empty = () => ({ number: 1, words: "", facts: [], lost: [], exchanges: [], calls: [], timeline: { spans: [] } });
const branches = data.branches.length ? data.branches.map((part) => grow(empty(), part)) : [counting(empty())];

/** Add a new part to a branch. */
function grow(branch, part) {
  put(texts, part.texts);
  const [first, calls] = part.calls;
  put(branch.calls, [first, unfolded(calls, branch.calls[first - 1])]);
  put(branch.exchanges, part.exchanges);
  const spans = grown(branch.timeline.spans, part.timeline.spans);
  return counting(Object.assign(branch, part.about, { timeline: { ...part.timeline, spans } }));
}

/** Replace the items of a list from `first` on. */
function put(list, [first, items]) {
  list.length = first;
  for (const item of items) list.push(item);
}

/** Add the number of exchanges and the steps to a branch. */
function counting(branch) {
  branch.asked = branch.exchanges.reduce((most, exchange) => Math.max(most, exchange.number), 0); // a planted fact has 0
  branch.stops = branch.exchanges.flatMap((exchange, at) =>
    exchange.calls.length ? exchange.calls.map((call) => ({ exchange: at, call })) : [{ exchange: at, call: null }]);
  return branch;
}

/** A list or a text from the previous one and [shared at the start, the items between, shared at the end]. */
function grown(list, [start, between, end]) {
  return list.slice(0, start).concat(between, end ? list.slice(list.length - end) : list.slice(0, 0));
}

/** The calls with their whole lists, which are sent as differences to the previous call. */
function unfolded(told, before = { was: [], fates: "", sent: [] }) {
  let { was, fates, sent } = before;
  return told.map((call) => {
    was = grown(was, call.was);
    fates = grown(fates, call.fates);
    sent = grown(sent, call.sent);
    return { ...call, was, fates, sent };
  });
}

/** The rows of a call in order: messages of the history, and inserted ones at their place in the view. */
function rowsOf(call) {
  const counted = (list) => list.reduce((sum, at) => sum + texts[at].tokens, 0);
  const before = (call.all - call.overhead) / (counted(call.was) || 1);
  const after = (call.tokens - call.overhead) / (counted(call.sent) || 1);
  const places = new Map(call.was.map((at, place) => [texts[at].id, place]));
  const copies = new Map(call.sent.map((at) => [texts[at].id, at]));
  let dropped = 0;
  const why = call.why.flatMap(([words, times]) => Array(times).fill(words));
  const rows = call.was.map((at, place) => {
    const letter = call.fates[place];
    const copy = copies.get(texts[at].id);
    const gone = letter === "D" ? why[dropped++] : "";
    return {
      name: `${place + 1}`, letter, fate: NAMES[letter], was: texts[at], sent: copy === undefined ? null : texts[copy],
      before: texts[at].tokens * before, after: copy === undefined ? 0 : texts[copy].tokens * after,
      why: call.steps[place] || gone,
    };
  });
  const shown = [];
  let inserted = [], count = 0, next = 0;
  for (const at of call.sent) {
    const place = places.get(texts[at].id);
    if (place === undefined) {
      count += 1;
      inserted.push({ name: `+${count}`, letter: "I", fate: "inserted", was: null, sent: texts[at], before: 0,
        after: texts[at].tokens * after, why: "" });
    } else {
      shown.push(...rows.slice(next, place), ...inserted, rows[place]);
      inserted = [];
      next = place + 1;
    }
  }
  shown.push(...rows.slice(next), ...inserted);
  let reached = call.overhead;
  for (const row of shown) {
    row.cached = row.sent !== null && call.cached > 0 && reached + row.after / 2 <= call.cached;
    reached += row.after;
    row.told = () => reason(row, shown, call);
  }
  return shown;
}

/** The reason of a message's fate, in the words of /why. */
function reason(row, rows, call) {
  const said = row.why || (row.fate === "kept" && kept(row, rows, call))
    || (row.sent && row.sent.why) || (standing(row, rows) || { sent: {} }).sent.why || UNSAID;
  const words = said.replace(/\.+$/, "");
  if (!row.was) {
    const names = rows.filter((other) => other.was && (row.sent.covers || []).includes(other.was.id)).map((other) => other.name);
    const covered = names.length > 1 ? `${number(names.length)} messages from ${names[0]} to ${names.at(-1)}` : `message ${names[0]}`;
    return names.length ? `${words}; it is sent in place of ${covered}` : words;
  }
  const summary = standing(row, rows);
  return summary ? `message ${summary.name} is sent in its place (${words})` : words;
}

/** The summary of the view that replaces this message. */
const standing = (row, rows) => row.was &&
  rows.find((other) => other !== row && other.sent && (other.sent.covers || []).includes(row.was.id));

function kept(row, rows, call) {
  const asked = rows.filter((other) => other.was && other.was.role === "user" && !other.was.why);
  if (row === rows.find((other) => other.was)) return "the system message is first in every view, byte for byte";
  if (row === asked.at(-1)) return "the current question stays in every view, word for word";
  if (row === asked[0]) return "the first task stays in every view, word for word";
  return `the strategy left it as it was; the view is ${number(call.tokens)} of ${number(call.limit)} tokens`;
}
