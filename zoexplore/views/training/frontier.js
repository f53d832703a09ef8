// Accuracy against epsilon: a model is a pair of dots at one height, which grows while it is trained.
const SVG = "http://www.w3.org/2000/svg", NAMES = {every: "every step", last: "only the last"}, SHARES = [0.48, 0.96], GUESSING = 0.5;
const NAMED = 5; // the model by whose dots the two ways have their names
const LEFT = 44, RIGHT = 24, TOP = 42, BELOW = 48, BUTTON = 24; // pixels around the frame, and for the button above it

export function render({model}) {
  const box = document.createElement("div"), svg = document.createElementNS(SVG, "svg");
  box.className = "box";
  box.append(svg);
  const rows = () => [["sigma", "epsilon_every", "epsilon_last", "accuracy", "error"], ...model.picture.models.map(({sigma, x, path, error}) => [sigma, x.every, x.last, path.at(-1), path.length ? error : null])];
  exporting(box, {name: "train", svg: () => svg, says: () => [model.picture.says], rows});
  svg.setAttribute("role", "img");
  const kept = new Map(); // dots, which glide from one place to the next
  let drawn = [];
  const put = (kind, attributes, words) => {
    const made = svg.appendChild(document.createElementNS(SVG, kind));
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (words != null) made.textContent = words;
    drawn.push(made);
    return made;
  };
  const draw = () => {
    const p = model.picture, W = svg.clientWidth, H = svg.clientHeight;
    if (!p.models || !W) return;
    drawn.forEach((each) => each.remove());
    drawn = [];
    svg.setAttribute("aria-label", `Accuracy against ε, ${p.models.length} models. ${p.says}`);
    const [low, high] = p.ends, end = W - RIGHT, foot = H - BELOW, done = p.stage === "done", before = p.stage === "before", ways = p.ways;
    const X = (e) => LEFT + (end - LEFT) * Math.log(e / low) / Math.log(high / low);
    const Y = (a) => foot + (TOP - foot) * (a - SHARES[0]) / (SHARES[1] - SHARES[0]);
    const there = (e) => Number.isFinite(e) && e > 0;
    const path = (points) => "M" + points.map(([e, a]) => `${X(e).toFixed(1)},${Y(a).toFixed(1)}`).join("L");
    const line = (points, kind, more = {}) => points.length > 1 && put("path", {d: path(points), class: `line ${kind}`, ...more});
    const text = (x, y, words, kind = "", align = "start") => put("text", {x, y, class: kind, "text-anchor": align}, words);
    // the frame
    for (let a = 5; a < 10; a++) {
      put("line", {class: "grid", x1: LEFT, x2: end, y1: Y(a / 10), y2: Y(a / 10)});
      text(LEFT - 8, Y(a / 10) + 4, (a / 10).toFixed(1), "", "end");
    }
    put("line", {class: "axis", x1: LEFT, x2: end, y1: foot, y2: foot});
    for (const [e, words] of decades(low, high, 8)) {
      put("line", {class: "axis", x1: X(e), x2: X(e), y1: foot, y2: foot + 5});
      text(X(e), foot + 19, words, "", "middle");
    }
    text(LEFT, H - 8, "← more private");
    text(end, H - 8, `ε at δ = ${p.delta}`, "", "end");
    text(0, 12, W < 500 && p.progress ? "gets right" : "share of held-out records that a model gets right");
    if (p.progress) {
      const until = end - BUTTON;
      text(until, 13, p.progress, "now", "end");
      put("line", {class: "bar", x1: LEFT, x2: until, y1: 26, y2: 26});
      put("line", {class: "bar part", x1: LEFT, x2: LEFT + (until - LEFT) * p.part, y1: 26, y2: 26});
    }
    text(end - 2, Y(GUESSING) - 11, before ? "not trained" : "guessing", "halo", "end");
    if (p.free != null) {
      line([[low, p.free], [high, p.free]], "free");
      text(LEFT + 6, Y(p.free) - 6, "without noise", "halo");
    }
    // what was trained before
    const pale = before ? 0.8 : done ? 0.45 : 0.3;
    for (const way of ways) {
      const points = p.earlier.filter((each) => there(each.x[way])).map((each) => [each.x[way], each.y]);
      line(points, `earlier ${way}`, {opacity: pale});
      for (const [e, a] of points) put("circle", {cx: X(e), cy: Y(a), r: 2.4, class: `fill ${way}`, opacity: pale});
    }
    const middle = (x) => { const all = ways.map((way) => x[way]).filter(there); return all.length ? X(Math.sqrt(Math.min(...all) * Math.max(...all))) : null; };
    const last = p.earlier.at(-1);
    if (done) text(LEFT + 6, TOP - 6, p.named); // above all curves
    else if (last && middle(last.x) != null) text(Math.max(middle(last.x), LEFT + 3.4 * p.named.length), Y(last.y) + 18, p.named, "halo", "middle");
    // the models: where they will end, trails, curves, links and bars
    for (const way of ways) {
      if (p.stage === "during") p.models.forEach(({along}, i) => there(along[way].at(-1)) && put("line", {class: `line ${way}`, x1: X(along[way].at(-1)), x2: X(along[way].at(-1)), y1: foot - 9, y2: foot, "stroke-width": i === p.mine ? 3 : 1.5}));
      if (done) line(p.models.filter((each) => there(each.x[way])).map((each) => [each.x[way], each.y]), `curve ${way}`);
      for (const each of p.models) {
        if (!there(each.x[way])) continue;
        if (!done) line(each.path.map((a, i) => [each.along[way][i], a]), `trail ${way}`);
        else if (each.error != null) line([[each.x[way], each.y - each.error], [each.x[way], each.y + each.error]], `bar_of ${way}`);
      }
    }
    for (const each of p.models) line(ways.map((way) => each.x[way]).filter(there).map((e) => [e, each.y]), "link");
    // the reader's own: between two that were trained along the curve
    const mine = p.mine == null ? [] : [p.models[Math.floor(p.mine)], p.models[Math.ceil(p.mine)]], part = p.mine % 1;
    if (mine.length && ways.some((way) => there(mine[0].x[way]) && there(mine[1].x[way]))) {
      const a = (1 - part) * mine[0].y + part * mine[1].y, at = {};
      for (const way of ways) at[way] = mine[0].x[way] ** (1 - part) * mine[1].x[way] ** part;
      line(ways.map((way) => [at[way], a]), "mine");
      for (const way of ways) put("circle", {cx: X(at[way]), cy: Y(a), r: 10, class: "ring"});
      const alone = ways.length < 2; // then its curve runs up through it
      text(middle(at) + (alone ? 14 : 0), Y(a) + (before ? -18 : 19), before && W > 500 ? "your σ: both ε are known, accuracy is not" : "your σ", "halo own", alone ? "start" : "middle");
    }
    const named = (before ? p.earlier : p.models)[NAMED];
    if (named) for (const way of ways) {
      const {x, y} = named, left = way === "last";
      if (there(x[way])) text(X(x[way]) + (left ? -12 : 12), Y(y) + (left ? -4 : 15), NAMES[way], `halo name ${way}`, left ? "end" : "start");
    }
    const seen = new Set();
    for (const way of ways) p.models.forEach(({x, y}, i) => {
      if (!there(x[way])) return;
      const key = way + i;
      if (!kept.has(key)) kept.set(key, document.createElementNS(SVG, "circle"));
      const dot = svg.appendChild(kept.get(key));
      dot.setAttribute("class", `dot ${way}${done ? " filled" : ""}`);
      dot.style.cssText = `cx:${X(x[way]).toFixed(1)}px; cy:${Y(y).toFixed(1)}px; r:${i === p.mine ? 5.5 : 4.5}px; opacity:${before ? 0.35 : 1}`;
      seen.add(key);
    });
    for (const [key, dot] of kept) if (!seen.has(key)) dot.remove();
  };
  model.on("picture", draw);
  new ResizeObserver(draw).observe(svg);
  return box;
}
