// Third part: which call is shown, and how one goes to another.

let at = 0;
const main = make("main", { tabIndex: -1 });
const list = contents();
document.title = `${about.title} · thimble`;
document.body.append(header(), make("div", { className: "layout" }, list, main));

const ENDINGS = { planted: "a planted fact: no model was asked", cancelled: "stopped", withdrawn: "the budget could not hold it",
  unfinished: "not finished", "turn-limit": "the turn limit was reached", empty: "ended without a word", thought: "thought, and did not answer", refused: "declined to answer" };

function show() {
  const stop = stops[at], exchange = exchanges[stop.exchange];
  const turn = stop.call === null ? 0 : exchange.calls.indexOf(stop.call) + 1;
  const place = [exchange.number ? `exchange ${exchange.number} of ${asked}` : "",
    turn ? `call ${turn} of ${exchange.calls.length}` : "", ENDINGS[exchange.ending] || "", exchange.took].filter(Boolean).join(" · ");
  const button = (words, label, by) => make("button", { type: "button", textContent: words, disabled: !stops[at + by],
    onclick: () => go(at + by), aria: { label } });
  const parts = [make("section", {}, make("div", { className: "place" }, make("span", { className: "quiet", textContent: place }),
    button("←", "previous call", -1), button("→", "next call", 1)), make("h2", { textContent: exchange.question }),
    ...about.lost.map((words) => make("p", { className: "over", textContent: words })))];
  if (stop.call !== null) {
    const call = calls[stop.call], rows = call.known ? rowsOf(call) : [];
    parts.push(curve(stop.call), call.known ? context(call, rows) : make("p", { textContent: "What this call was sent is lost." }),
      said(call), section("Figures", make("div", { className: "tables" }, table("This call", call.figures), table("The session", about.totals))),
      ...(call.known ? [messages(call, rows)] : []));
  } else if (exchange.answer) {
    parts.push(make("p", { className: "prose said", textContent: exchange.answer }));
  }
  main.replaceChildren(...parts);
  list.querySelectorAll("button").forEach((each, number) => {
    if (number === stop.exchange) each.setAttribute("aria-current", "true"); else each.removeAttribute("aria-current");
  });
  const current = list.querySelector("[aria-current]"), above = current.offsetTop, below = above + current.offsetHeight;
  if (above < list.scrollTop || below > list.scrollTop + list.clientHeight) list.scrollTop = above - list.clientHeight / 3;
}

function go(to) {
  if (!stops[to]) return;
  at = to;
  history.replaceState(null, "", `#${at + 1}`);
  show();
  const exchange = exchanges[stops[at].exchange].number;
  told.textContent = `${exchange ? `exchange ${exchange}, ` : ""}step ${at + 1} of ${stops.length}`;
}

const goToCall = (call) => go(stops.findIndex((stop) => stop.call === call));
const told = make("p", { className: "quiet", id: "status", aria: { role: "status" } });
document.querySelector("header").insertBefore(told, document.querySelector("header button"));

document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: stops.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  go(to);
});
addEventListener("hashchange", () => go(Number(location.hash.slice(1)) - 1));
let resized = 0;
addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(show, 150); });

go(Math.min(stops.length, Math.max(1, Number(location.hash.slice(1)) || 1)) - 1);
