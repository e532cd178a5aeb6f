// Fourth part: which call of one branch, or of two side by side, is shown, and the ways to another one.

const ENDINGS = { planted: "a planted fact: no model was asked", cancelled: "stopped", withdrawn: "the budget could not hold it",
  unfinished: "not finished", "turn-limit": "the turn limit was reached", empty: "an empty answer", thought: "thinking without an answer", refused: "declined to answer",
  passages: "no answer: the closest passages" };

let shown = () => {}; // what else to do when a side is shown
let sides = []; // one shown branch, or two side by side, each with its step
const layout = make("main", { className: "layout" });
const facts = make("p", { className: "facts quiet" });
const choosers = branches.length < 2 ? [] : [
  chooser("branch", "", (at) => present([[branches[at], sides[0].at], ...sides.slice(1).map((side) => [side.branch, side.at])])),
  chooser("second branch", "no second branch", (at) =>
    present([[sides[0].branch, sides[0].at], ...(at < 0 ? [] : [[branches[at], sides[0].at]])])),
];
document.title = `${about.title} · thimble`;
document.body.append(header(), layout);
const told = make("p", { className: "quiet", id: "status", aria: { role: "status" } });
document.querySelector("header").insertBefore(told, document.querySelector("header button"));

/** Show these: a branch and a step of it, or two. */
function present(wanted) {
  sides = wanted.map(([branch, step], number) => {
    const side = { branch, number, at: Math.min(branch.stops.length - 1, Math.max(0, step)) };
    side.main = make("div", { className: "call", tabIndex: -1 });
    side.list = contents(side);
    side.element = make("div", { className: "side" }, side.list, side.main);
    return side;
  });
  layout.className = sides.length > 1 ? "layout two" : "layout";
  layout.replaceChildren(...sides.map((side) => side.element));
  choosers.forEach((select, number) => { select.value = `${sides[number] ? branches.indexOf(sides[number].branch) : -1}`; });
  facts.textContent = sides.length > 1 ? "" : sides[0].branch.facts.join(" · ");
  sides.forEach(show);
  remember();
}

function show(side) {
  const { exchanges, calls, stops } = side.branch;
  if (!stops.length) {
    side.main.replaceChildren(make("p", { className: "quiet", textContent: "Nothing was asked yet." }));
    return;
  }
  const stop = stops[side.at], exchange = exchanges[stop.exchange];
  const turn = stop.call === null ? 0 : exchange.calls.indexOf(stop.call) + 1;
  const place = [exchange.number ? `exchange ${exchange.number} of ${side.branch.asked}` : "",
    turn ? `call ${turn} of ${exchange.calls.length}` : "", ENDINGS[exchange.ending] || "", duration(exchange.took)].filter(Boolean).join(" · ");
  const button = (words, label, by) => make("button", { type: "button", textContent: words, disabled: !stops[side.at + by],
    onclick: () => go(side, side.at + by), aria: { label } });
  const parts = [make("section", {}, make("div", { className: "place" }, make("span", { className: "quiet", textContent: place }),
    button("←", "previous call", -1), button("→", "next call", 1)),
    sides.length > 1 ? make("p", { className: "quiet", textContent: side.branch.facts.join(" · ") }) : null,
    make("h2", { textContent: exchange.question }),
    ...[...exchange.grounds, ...side.branch.lost].map((words) => make("p", { className: "over", textContent: words })))];
  if (stop.call !== null) {
    const call = calls[stop.call], rows = call.known ? rowsOf(call) : [];
    parts.push(curve(side, stop.call), call.known ? context(side, call, rows) : make("p", { textContent: "The prompt of this call is lost." }),
      said(call), timeline(side), section("Figures", make("div", { className: "tables" }, table("This call", figuresOf(call)), table("The branch", totalsOf(side.branch.spent)))),
      ...(call.known ? [messages(call, rows)] : []));
  } else if (exchange.answer) {
    parts.push(make("p", { className: "prose said", textContent: exchange.answer }));
  }
  side.main.replaceChildren(...parts.filter(Boolean));
  mark(side);
  shown(side);
}

/** Mark the shown exchange in the list of exchanges. */
function mark(side) {
  const { exchange } = side.branch.stops[side.at];
  side.list.querySelectorAll("button").forEach((each, number) => {
    if (number === exchange) each.setAttribute("aria-current", "true"); else each.removeAttribute("aria-current");
  });
  const list = side.list, current = list.querySelector("[aria-current]"), above = current.offsetTop, below = above + current.offsetHeight;
  if (above < list.scrollTop || below > list.scrollTop + list.clientHeight) list.scrollTop = above - list.clientHeight / 3;
}

function go(side, to) {
  if (!side.branch.stops[to]) return;
  side.at = to;
  show(side);
  remember();
  const exchange = side.branch.exchanges[side.branch.stops[to].exchange].number;
  const branch = sides.length > 1 ? `branch ${side.branch.number}, ` : "";
  told.textContent = `${branch}${exchange ? `exchange ${exchange}, ` : ""}step ${to + 1} of ${side.branch.stops.length}`;
}

const goToCall = (side, call) => go(side, side.branch.stops.findIndex((stop) => stop.call === call));

/** The fragment of the address names the shown step: a step of the first branch, `BRANCH.STEP` of another; `+` joins two. */
function remember() {
  const parts = sides.map((side) => `${side.branch === branches[0] ? "" : `${side.branch.number}.`}${side.at + 1}`);
  history.replaceState(null, "", `#${parts.join("+")}`);
}

/** The step of the first call with a message that the strategy changed, else the first step. */
const firstActed = ({ calls, stops }) => stops.findIndex((stop) => stop.call !== null && /[^K]/.test(calls[stop.call].fates));

function remembered() {
  return location.hash.slice(1).split("+").slice(0, 2).map((part) => {
    const [step, number] = part.split(".").map(Number).reverse();
    const branch = branches.find((other) => other.number === number) || branches[0];
    return [branch, step ? step - 1 : firstActed(branch)];
  });
}

document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.localName === "select") return;
  const to = { ArrowLeft: (side) => side.at - 1, ArrowRight: (side) => side.at + 1, Home: () => 0,
    End: (side) => side.branch.stops.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  sides.forEach((side) => go(side, to(side)));
});
addEventListener("hashchange", () => present(remembered()));
let resized = 0;
addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(() => sides.forEach(show), 150); });

present(remembered());
