// Third part: the timeline of a branch, a row for each lane. A span has its letter if it fits, and its numbers as a tooltip.

const LANE = 24, LANE_NAMES = 170, AXIS = 18; // pixels

function timeline(side) {
  const { lanes, spans, seconds, begins, sums } = side.branch.timeline;
  if (!spans.length) return null;
  const width = Math.max(400, side.main.clientWidth - 80), height = lanes.length * LANE, scale = (width - LANE_NAMES) / Math.max(seconds, 0.001);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height + AXIS}`, width, height: height + AXIS, role: "img",
    "aria-label": `Timeline. ${spoken(lanes, spans)}` });
  const few = Object.keys(begins).length < 60; // more would not have room
  for (const [exchange, began] of few ? Object.entries(begins) : []) {
    const x = LANE_NAMES + began * scale;
    svg.append(draw("line", { class: "begin", x1: x, x2: x, y1: 0, y2: height }), draw("text", { x: x + 3, y: height + 13 }, exchange));
  }
  lanes.forEach((name, at) => svg.append(draw("text", { x: 0, y: at * LANE + 15 }, name)));
  const drawn = new Set(); // of spans as wide as a pixel, one in each place
  for (const [lane, kind, began, took, words] of spans) {
    const x = LANE_NAMES + began * scale, wide = Math.max(1, took * scale), place = `${lane} ${kind} ${Math.round(x)}`;
    if (wide === 1 && drawn.has(place)) continue;
    drawn.add(place);
    const span = draw("g", { class: `span is-${kind}` });
    span.append(draw("title", {}, `${words}, from ${began.toFixed(3)} s`),
      draw("rect", { x: Math.min(x, width - wide), y: lane * LANE, width: wide, height: LANE - 4 }));
    if (wide > ROOM_FOR_A_LETTER) span.append(draw("text", { x: x + wide / 2, y: lane * LANE + 14 }, about.kinds[kind][0]));
    svg.append(span);
  }
  const met = new Set(spans.map(([, kind]) => kind));
  const keys = Object.entries(about.kinds).filter(([kind]) => met.has(kind)).map(([kind, [letter, meaning]]) =>
    make("span", {}, make("span", { className: `letter is-${kind}`, textContent: letter }), ` ${meaning}`));
  return section("Timeline", make("div", { className: "timeline" }, svg), make("p", { className: "legend" }, ...keys),
    ...sums.map((words) => make("p", { className: "quiet", textContent: words })));
}

/** The seconds of each kind in each lane, for screen readers. */
const spoken = (lanes, spans) => lanes.flatMap((name, lane) => Object.entries(about.kinds).flatMap(([kind, [, meaning]]) => {
  const took = spans.filter((span) => span[0] === lane && span[1] === kind).map((span) => span[3]);
  return took.length ? [`${name}: ${meaning} ${duration(took.reduce((sum, one) => sum + one, 0))}`] : [];
})).join("; ");
