// Second part: the pieces of the page. All text of a session is set as text, never as markup.

const AT_ONCE = 200; // messages that are listed before the next picture

function make(name, properties = {}, ...children) {
  const { aria = {}, ...rest } = properties;
  const element = Object.assign(document.createElement(name), rest);
  Object.entries(aria).forEach(([key, value]) => element.setAttribute(key === "role" ? key : `aria-${key}`, value));
  element.append(...children.filter((child) => child !== null && child !== ""));
  return element;
}

function draw(name, attributes, words = "") {
  const element = document.createElementNS(SVG, name);
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  element.textContent = words;
  return element;
}

const section = (title, ...children) => make("section", {}, make("h3", { textContent: title }), ...children);
const number = (tokens, mark = "") => `${tokens ? mark : ""}${Math.round(tokens).toLocaleString("en")}`;
const several = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
const tokensOf = (count, exact = true) => count === null ? "?" : number(count, exact ? "" : "~");
const amount = ({ tokens, exact, least }) => least ? `≥${tokensOf(least, exact)}` : tokensOf(tokens, exact);
const share = (count, of) => `${count > of ? Math.max(101, Math.round(100 * count / of)) : Math.round(100 * count / of)}%`;
const duration = (seconds) => seconds < 0.1 ? `${Math.round(seconds * 1000)} ms` : seconds < 99.95 ? `${seconds.toFixed(1)} s`
  : `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
const letterOf = (row) => make("span", { className: `letter ${row.letter}`, textContent: row.letter, aria: { hidden: "true" } });

function sizeOf(row, mark) {
  const before = number(row.before, mark), after = number(row.after, mark);
  return !row.was ? after : before === after ? before : `${before} → ${after}`;
}

const whoOf = (row) => (row.was ?? (row.sent.why ? row.sent : { who: "thimble" })).who;
const titleOf = (row, mark) => `message ${row.name} (${whoOf(row)}), ${row.fate}, ${sizeOf(row, mark)} tokens`;

// ---- the parts of the page ----

function header() {
  const swap = make("button", { type: "button", textContent: "Light / dark", onclick: () => {
    const root = document.documentElement;
    const dark = root.style.colorScheme ? root.style.colorScheme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.style.colorScheme = dark ? "light" : "dark";
  } });
  return make("header", {}, make("h1", { textContent: "thimble" }), facts, ...choosers, swap);
}

/** A menu of branches; `none` is the label of the choice without a branch. */
function chooser(label, none, choose) {
  const option = (value, textContent) => make("option", { value: `${value}`, textContent });
  const select = make("select", { onchange: () => choose(Number(select.value)), aria: { label } },
    ...(none ? [option(-1, none)] : []), ...branches.map((branch, at) => option(at, `branch ${branch.words}`)));
  return select;
}

function contents(side) {
  const { exchanges, stops } = side.branch;
  const items = exchanges.map((exchange, at) => {
    const button = make("button", { type: "button", onclick: () => go(side, stops.findIndex((stop) => stop.exchange === at)) },
      make("span", { className: "number", textContent: exchange.number || "·" }),
      make("span", { className: "words", textContent: exchange.question }));
    return make("li", {}, button);
  });
  return make("nav", { aria: { label: "Exchanges" } }, make("ol", {}, ...items));
}

/** The curves of prompt tokens and history tokens over the calls, with the budget as a line; a click goes to a call. */
function curve(side, now) {
  const { calls, exchanges } = side.branch;
  const width = Math.max(300, side.main.clientWidth - 80), height = 120, left = 4, across = width - left - 20, top = 16; // the last number needs room
  const most = Math.max(...calls.map((call) => Math.max(call.tokens, call.limit)));
  const highest = Math.min(Math.max(...calls.map((call) => Math.max(call.all, call.limit))), most * 1.8);
  const x = (at) => left + (calls.length < 2 ? 0.5 : at / (calls.length - 1)) * across;
  const y = (tokens) => top + height * (1 - tokens / highest); // higher values are outside the picture
  const path = (value) => calls.map((call, at) => `${at ? "L" : "M"}${x(at).toFixed(1)} ${y(value(call)).toFixed(1)}`).join("");
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height + 2 * top}`, width, height: height + 2 * top, role: "img",
    "aria-label": `Prompt tokens over ${several(calls.length, "call")}; call ${now + 1} holds ${number(calls[now].tokens)} of ${number(calls[now].limit)}` });
  const few = exchanges.length < 60;
  exchanges.forEach((exchange) => {
    if (exchange.calls.length && few) {
      const begin = x(exchange.calls[0]);
      svg.append(draw("line", { class: "begin", x1: begin, x2: begin, y1: top, y2: top + height }),
        draw("text", { x: begin + 3, y: top + height + 13 }, `${exchange.number || "·"}`));
    }
  });
  svg.append(
    draw("path", { class: "limit", d: path((call) => call.limit) }),
    draw("path", { class: "all", d: path((call) => call.all) }),
    draw("path", { class: "sent", d: path((call) => call.tokens) }),
    draw("text", { x: 6, y: y(calls[0].limit) - 4 }, `budget ${number(calls[0].limit)}`),
    draw("line", { class: "now", x1: x(now), x2: x(now), y1: 0, y2: top + height }),
    draw("circle", { cx: x(now), cy: y(calls[now].tokens), r: 5 }));
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width * width - left) / across * (calls.length - 1);
    goToCall(side, Math.min(calls.length - 1, Math.max(0, Math.round(at))));
  });
  const key = (name, words) => make("span", {}, make("i", { className: name }), words);
  return section("Prompt of each call", make("div", { className: "curve" }, svg), make("div", { className: "keys" },
    key("sent", "sent"), key("all", `the whole history, at the end ${number(calls[calls.length - 1].all, calls[calls.length - 1].mark)}`), key("limit", "budget"), few ? "below: the start of each exchange" : ""));
}

/** A bar: blocks side by side, as wide as their tokens, on a scale of `whole` tokens. */
function bar(side, name, blocks, whole, limit, role) {
  const strip = make("div", { className: `bar ${name}`, aria: role });
  const pixels = (side.main.clientWidth || 900) / whole;
  let reached = 0;
  for (const { letter, tokens, row } of role.role === "img" ? joined(blocks, 1 / pixels) : blocks) {
    const wide = tokens * pixels;
    const block = make("div", { className: `block ${letter}${wide > 3 ? " wide" : ""}`,
      textContent: wide > ROOM_FOR_A_LETTER ? letter : "" });
    block.style.left = `${100 * reached / whole}%`;
    block.style.width = `${100 * tokens / whole}%`;
    block.row = row;
    strip.append(block);
    reached += tokens;
  }
  const line = make("div", { className: "budget", title: `the budget: ${number(limit)} tokens` });
  line.style.left = `${100 * limit / whole}%`;
  strip.append(line);
  return strip;
}

/** The blocks; neighbours of one fate that are too narrow to be seen are joined, and described by the first. */
function joined(blocks, least) {
  const result = [];
  for (const block of blocks) {
    const last = result.at(-1);
    if (last && last.letter === block.letter && block.tokens < least && last.tokens < 3 * least) last.tokens += block.tokens;
    else result.push({ ...block });
  }
  return result;
}

function context(side, call, rows) {
  const mark = call.mark, list = rows.filter((row) => row.sent);
  const told = make("p", { className: "told" });
  const tools = { letter: "T", tokens: call.overhead, row: null };
  const block = (size) => (row) => ({ letter: isPrompt(row) ? "P" : row.letter, tokens: row[size], row });
  const whole = Math.max(call.all, call.tokens, call.limit); // one scale for both
  const was = bar(side, "was", [tools, ...rows.filter((row) => row.was).map(block("before"))], whole, call.limit,
    { role: "img", label: `The whole history: ${byFate(rows.filter((row) => row.was), "before", mark)}` });
  const sent = bar(side, "now", [tools, ...list.map(block("after"))], whole, call.limit,
    { role: "listbox", label: "The prompt, a block per message; arrow up and down go through them" });
  sent.tabIndex = 0;
  const options = [...sent.querySelectorAll(".block")];
  options.forEach((option, at) => {
    option.id = `block-${side.number}-${at}`;
    option.setAttribute("role", "option");
  });
  let at = -1;
  const show = (found) => {
    sent.querySelector(".at")?.classList.remove("at");
    if (!found) return;
    const row = found.row;
    told.replaceChildren(row ? letterOf(row) : "", ` ${row ? titleOf(row, mark) : toolsOf(call)}`,
      make("br"), make("span", { className: "quiet", textContent: row ? `why: ${row.told()}` : "not part of a message" }));
    options.find((option) => option.row === row)?.classList.add("at");
  };
  const hover = (event) => { if (event.target.classList.contains("block")) show(event.target); };
  sent.addEventListener("mouseover", hover);
  was.addEventListener("mouseover", hover);
  const open = (found) => { if (found?.row) openRow(side, found.row.name); };
  for (const one of [sent, was]) one.addEventListener("click", (event) => open(event.target));
  sent.addEventListener("focus", () => { if (at < 0) step(1); });
  const step = (by) => {
    options[at]?.setAttribute("aria-selected", "false");
    at = Math.min(options.length - 1, Math.max(0, at + by));
    options[at].setAttribute("aria-selected", "true");
    const row = options[at].row;
    options[at].setAttribute("aria-label", row ? `${titleOf(row, mark)}: ${row.told()}` : toolsOf(call));
    sent.setAttribute("aria-activedescendant", options[at].id);
    show(options[at]);
  };
  sent.addEventListener("keydown", (event) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (by) { event.preventDefault(); step(by); }
    if (event.key === "Enter") open(options[at]);
  });
  const free = call.limit - call.tokens;
  const size = `${number(call.tokens, mark)} of ${number(call.limit)} tokens, ${share(call.tokens, call.limit)}: ${several(list.length, "message")}, ` +
    `${free < 0 ? "over by" : "free"} ${number(Math.abs(free), mark)}`;
  told.textContent = call.did.length ? `${call.strategy} ${call.did.join(", ")}.` : `${call.strategy} changed nothing since the previous call.`;
  return section("The prompt",
    make("p", { className: "caption" }, make("span", { textContent: `was: ${number(call.all, mark)} tokens, the whole history` }),
      make("span", { className: "quiet", textContent: several(call.was.length, "message") })),
    was,
    make("p", { className: "caption" }, make("span", { className: free < 0 ? "over" : "", textContent: `sent: ${size}` }),
      make("span", { className: "quiet", textContent: `dotted line: the budget` })),
    sent, ...under(call, whole), legend(call, rows), told,
    ...call.notes.map((note) => make("p", { className: "quiet", textContent: note })));
}

const isPrompt = (row) => row.was !== null && row.was.role === "system";
const toolsOf = (call) => `${call.tools ? "tool schemas and template" : "template"}, ${number(call.overhead, call.mark)} tokens`;

/** Below the prompt: the part that the server had cached, and the part that it had to compute. */
function under(call, whole) {
  if (call.cached === null) return [make("p", { className: "keys", textContent: "cached ?" })];
  const parts = [["cached", "cached", call.cached], ["prefill", "prefill", call.tokens - call.cached]];
  const line = make("div", { className: "under", aria: { hidden: "true" } }, ...parts.map(([name, , tokens]) => {
    const part = make("div", { className: name });
    part.style.width = `${100 * tokens / whole}%`;
    return part;
  }));
  const words = parts.map(([name, said, tokens]) =>
    make("span", {}, make("i", { className: name }), `${said} ${number(tokens, call.cachedMark)}`));
  return [line, make("p", { className: "keys" }, ...words)];
}

function byFate(rows, size, mark) {
  const sums = new Map();
  rows.forEach((row) => sums.set(row.fate, [(sums.get(row.fate)?.[0] ?? 0) + 1, (sums.get(row.fate)?.[1] ?? 0) + row[size]]));
  return [...sums].map(([fate, [count, tokens]]) => `${fate} ${several(count, "message")}, ${number(tokens, mark)} tokens`).join("; ");
}

function legend(call, rows) {
  const met = new Set(rows.map((row) => row.letter));
  const signs = [["T", call.tools ? "tool schemas" : "template"], ["P", "system prompt"],
    ...Object.entries(about.letters).filter(([, letter]) => met.has(letter)).map(([name, letter]) => [letter, name])];
  return make("p", { className: "legend" }, ...signs.map(([letter, name]) =>
    make("span", {}, make("span", { className: `letter ${letter}`, textContent: letter }), ` ${name}`)));
}

function said(call) {
  const reply = call.reply === null ? null : texts[call.reply];
  const parts = [];
  if (!reply) parts.push(make("p", { className: "quiet unsaid", textContent: "No reply: the call was stopped, or the server failed." }));
  if (reply && reply.thinking) parts.push(make("details", {}, make("summary", { textContent: "Thinking" }), pre(reply.thinking)));
  if (reply && reply.text.trim()) parts.push(make("p", { className: "prose", textContent: reply.text.trim() }));
  if (reply && !reply.text.trim() && !reply.calls) parts.push(make("p", { className: "quiet", textContent: "(empty)" }));
  const asked = (reply && reply.calls) || [];
  const tools = asked.map(([name, words], at) => {
    const [place, ok, took] = call.results[at] || [];
    const result = place === undefined ? null : texts[place];
    const state = !result ? "no result" : `${ok ? "" : "failed, "}${number(result.tokens, call.mark)} tokens, ${duration(took)}`;
    return make("div", { className: "said" }, make("p", { className: "tool", textContent: `${name} ${words}` }),
      result ? make("details", {}, make("summary", { className: "quiet", textContent: `observation: ${state}` }), pre(result.text))
        : make("p", { className: "quiet", textContent: state }));
  });
  return section("The reply", make("div", { className: "said" }, ...parts), ...tools);
}

const pre = (words) => make("pre", { className: "text", tabIndex: 0, textContent: words || "(empty)" });

function messages(call, rows) {
  const list = make("div", { className: "rows" });
  let next = 0;
  list.more = (count) => { while (count-- > 0 && next < rows.length) list.append(message(rows[next++], call.mark)); };
  const later = () => { if (list.isConnected && next < rows.length) { list.more(AT_ONCE); setTimeout(later, 50); } };
  list.more(AT_ONCE);
  setTimeout(later, 300);
  const words = "number, fate, author, tokens, first words; open a message to read it";
  return section("Message by message", make("p", { className: "quiet", textContent: words }), list);
}

function message(row, mark) {
  const words = (row.sent || row.was).text.trim().slice(0, 160).replace(/\s+/g, " ");
  const details = make("details", {}, make("summary", {},
    make("span", { className: "name", textContent: row.name }), letterOf(row),
    make("span", { textContent: whoOf(row) }),
    make("span", { className: "size", textContent: sizeOf(row, mark) }),
    make("span", { className: "first", textContent: words })));
  details.dataset.name = row.name;
  details.addEventListener("toggle", () => {
    if (details.open && !details.querySelector(".body")) details.append(body(row));
  });
  return details;
}

function body(row) {
  const parts = [make("p", { textContent: `${row.fate}${row.cached ? ", in the cached prefix" : ""}: ${row.told()}` })];
  const asks = ((row.was || row.sent).calls || []).map(([name, words]) => make("p", { className: "tool", textContent: `${name} ${words}` }));
  parts.push(...asks);
  if (row.was && row.sent && row.was.text !== row.sent.text) {
    parts.push(make("p", { className: "quiet", textContent: "as sent:" }), pre(row.sent.text),
      make("p", { className: "quiet", textContent: "in the history:" }), pre(row.was.text));
  } else {
    parts.push(pre((row.sent || row.was).text));
  }
  return make("div", { className: "body" }, ...parts);
}

function openRow(side, name) {
  side.main.querySelector(".rows").more(Infinity);
  const details = [...side.main.querySelectorAll(".rows details")].find((each) => each.dataset.name === name);
  details.open = true;
  details.querySelector("summary").focus();
}

/** The reported cost of a call. */
function figuresOf({ model, strategy, tokens, mark, limit, spent, reported }) {
  const rows = [["model", model], ["strategy", strategy], ["sent, by our count", number(tokens, mark)], ["of the budget", share(tokens, limit)]];
  return !spent ? rows : [...rows, ["prompt, by the server", tokensOf(reported.prompt)], ...spentOf(spent), ["time", duration(spent.seconds)],
    ["until the first word", reported.first === null ? "?" : duration(reported.first)]];
}

const spentOf = ({ cached, prefill, output }) =>
  [["cached", amount(cached)], ["prefill", amount(prefill)], ["output", amount(output)]];
const totalsOf = (spent) => [["prompt", amount(spent.prompt)], ...spentOf(spent),
  ["prompt without a strategy", number(spent.raw_prompt)], ["seconds in the model", spent.seconds.toFixed(1)]];

function table(title, rows) {
  return make("table", {}, make("caption", { textContent: title }), make("tbody", {}, ...rows.map(([name, value]) =>
    make("tr", {}, make("th", { scope: "row", textContent: name }), make("td", { textContent: value })))));
}
