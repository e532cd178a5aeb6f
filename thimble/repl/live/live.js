// Fifth part, only on the live page: the session grows with the server's events, and the room votes.

const REDRAW = 200; // milliseconds
const [branch] = branches;
const link = make("p", { className: "quiet", textContent: "connecting", aria: { role: "status" } });
const thought = make("p", { className: "prose quiet" }), prose = make("p", { className: "prose" });
const draft = make("div", { className: "said" }, thought, prose);
const open = make("details"), counted = make("details");
const room = make("div", { className: "room" }, open, counted);
const stream = new EventSource("events");
let drawn = 0, waits = false, ballot = 0, closed = 0; // the numbers of the open ballot and of the counted one
document.querySelector("header").append(link);
layout.before(room);

const parsed = (take) => (event) => take(JSON.parse(event.data));
stream.onopen = () => { link.textContent = "live"; };
stream.onerror = () => { link.textContent = "not connected"; };
stream.addEventListener("anew", forget);
stream.addEventListener("part", parsed(take));
stream.addEventListener("said", parsed((pieces) => {
  for (const [kind, words] of pieces) (kind === "thinking" ? thought : prose).append(words);
}));
stream.addEventListener("votes", parsed(vote));
stream.addEventListener("ended", () => { stream.close(); link.textContent = "the session has ended"; });

function unsay() {
  thought.replaceChildren();
  prose.replaceChildren();
}

function forget() {
  for (const list of [texts, branch.calls, branch.exchanges]) list.length = 0;
  branch.timeline.spans = [];
  counting(branch);
  drawn = 0;
  unsay();
  redrawSoon();
}

function take(part) {
  grow(branch, part);
  document.title = `${part.title} · thimble`;
  unsay();
  redrawSoon();
}

function redrawSoon() {
  if (waits) return;
  waits = true;
  setTimeout(() => { waits = false; redraw(); }, drawn ? REDRAW : 0);
}

/** A viewer of the newest call follows; a viewer of another call stays there. */
function redraw() {
  const [side] = sides, follows = side.at >= drawn - 1;
  drawn = branch.stops.length;
  const list = contents(side);
  side.list.replaceWith(list);
  side.list = list;
  facts.textContent = branch.facts.join(" · ");
  if (!follows) { mark(side); return; }
  side.at = drawn - 1;
  show(side);
}

shown = (side) => {
  const exchange = branch.exchanges.at(-1);
  if (exchange && side.at === branch.stops.length - 1 && exchange.ending === "unfinished") side.main.querySelector(".unsaid")?.replaceWith(draft);
};

// ---- the room ----

function vote(ballots) {
  if (ballots.open && ballots.open.number === ballot) recount(ballots.open);
  else open.replaceChildren(...(ballots.open ? asked(ballots.open) : []));
  if (ballots.counted?.number !== closed) counted.replaceChildren(...(ballots.counted ? result(ballots.counted) : []));
  open.hidden = !ballots.open;
  counted.hidden = !ballots.counted;
  [ballot, closed] = [ballots.open?.number, ballots.counted?.number];
}

/** Update the votes in place, so that they do not disturb a viewer who is ticking boxes or using the keyboard. */
function recount({ voters, rows }) {
  open.querySelector("summary").textContent = question(voters);
  open.querySelectorAll("label").forEach((label, at) => count(label, rows[at], voters));
}

function asked({ number, voters, rows }) {
  const said = make("span", { className: "quiet", aria: { role: "status" } });
  const send = async () => {
    const stay = [...open.querySelectorAll("input:checked")].map((input) => input.value).join(" ") || "none";
    const answer = await fetch(`vote/${number}`, { method: "POST", body: stay }).catch(() => null);
    said.textContent = answer?.ok ? " Your vote is in." : " The vote was not counted: the ballot is closed, or the session has ended.";
  };
  return [make("summary", { textContent: question(voters) }),
    ...rows.map((row) => line(row, voters, make("input", { type: "checkbox", value: row[0] }))),
    make("p", {}, make("button", { type: "button", textContent: "Vote", onclick: send }), said)];
}

const question = (voters) => `Vote: which messages will the next prompt hold unchanged? ${several(voters, "phone")} voted`;

function result({ voters, rows, right }) {
  const sign = ([, , , votes, stayed]) => make("span", { textContent: stayed === votes * 2 > voters ? "✓" : "✗" });
  return [make("summary", { textContent: `The room was right about ${right} of ${several(rows.length, "message")}` }),
    ...rows.map((row) => line(row, voters, sign(row), row[4] ? " stayed" : " went"))];
}

function line(row, voters, first, fate = "") {
  const [place, who, words] = row;
  return count(make("label", {}, first,
    make("span", { className: "quiet", textContent: place }), make("span", { className: "who", textContent: who }),
    make("span", { className: "words", textContent: words }),
    make("meter", { aria: { label: "votes that it stays" } }), make("span", { className: "quiet" })), row, voters, fate);
}

/** Put the votes for a message into its line. */
function count(label, [, , , votes], voters, fate = "") {
  const meter = label.querySelector("meter");
  meter.max = Math.max(1, voters);
  meter.value = votes;
  label.lastElementChild.textContent = `${votes}/${voters}${fate}`;
  return label;
}
