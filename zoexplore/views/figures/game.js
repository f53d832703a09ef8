// The attacker's game: twenty released models; was the record in the data? The score stands beside the bound's ceiling, and a seed
// makes a game that somebody else can play.
const ROUNDS = 20, SHOWN = 1100, HURRIED = 200; // ms for which an answer stands, and if another was given meanwhile
const NS = "http://www.w3.org/2000/svg";

export function render({model}) {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const box = document.createElement("div");
  box.className = "game";
  box.innerHTML = `<section class="box"><h2>With or without the record?</h2><p class="what"></p><canvas role="img"></canvas>${CAPTIONS}
    <p class="said" role="status"></p>
    <p class="guesses"><button type="button" class="without"><kbd>←</kbd>Without</button><button type="button" class="with">With<kbd>→</kbd></button></p>
    <p class="after" hidden><button type="button" class="send">Copy a challenge</button><button type="button" class="other"></button><button type="button" class="again">Play again</button></p></section>
    <section class="score"><ol class="rounds" aria-label="rounds"></ol><svg role="img"></svg></section>`;
  const find = (selector) => box.querySelector(selector), plane = new Plane(box), svg = find("svg");
  let seed, random, truth, run, played, waits = 0, last = "", queue = [];
  const kind = () => model.shown, apart = () => ({every: Array(LAST + 1).fill(model.every), last: Array(LAST + 1).fill(model.last)});
  const ceiling = () => model.ceilings[kind() === "every" ? 0 : 1], most = () => (ROUNDS * ceiling()).toFixed(1);
  const over = () => played.length >= ROUNDS && !waits, caught = () => played.filter(Boolean).length;
  const deal = () => {
    truth = random.uniform() < 0.5;
    run = walk(random);
  };
  const path = () => run[kind()].map(([x, y], i) => {
    const w = kind() === "every" ? i / LAST : 1;  // what is added up drifts with the steps; what forgets lies where it lies
    return plane.place([x + (truth ? 0.5 : -0.5) * model[kind()] * w, y]);
  });
  const start = (from) => {
    seed = from || 1 + Math.floor(Math.random() * 1e9);
    random = generator(seed);
    [played, queue, last] = [[], [], ""];
    clearTimeout(waits);
    waits = 0;
    deal();
    paint();
  };
  // Answers that come faster than they are shown wait for their round.
  const answer = (said) => {
    if (played.length + queue.length >= ROUNDS) return;
    queue.push(said);
    if (!waits) judge();
  };
  const judge = () => {
    const said = queue.shift();
    played.push(said === truth);
    const right = run[kind()].at(-1)[0] + (truth ? 0.5 : -0.5) * model[kind()] > 0, side = truth ? "right" : "left";
    const why = said === truth ? "" : right === truth ? `: it lay to the ${side}` : ", although it lay on the other side: noise hid it";
    last = `Round ${played.length}: <b>${said === truth ? "right" : "wrong"}</b>, it was ${truth ? "with" : "without"} the record${why}.`;
    const next = () => {
      waits = 0;
      if (played.length < ROUNDS) deal();
      if (queue.length) judge(); else paint();
    };
    waits = setTimeout(next, queue.length ? HURRIED : still ? 300 : SHOWN);
    paint();
  };
  const node = (name, attributes, words) => {
    const made = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (words != null) made.textContent = words;
    svg.append(made);
  };
  const score = () => {
    svg.replaceChildren();
    const W = svg.clientWidth, H = svg.clientHeight, n = played.length, right = caught(), c = ceiling();
    if (!W || !H) return;
    const edge = {top: 30, bottom: 26, left: 22, right: 92}, end = W - edge.right;
    const X = (k) => edge.left + k / ROUNDS * (end - edge.left), Y = (k) => H - edge.bottom - k / ROUNDS * (H - edge.top - edge.bottom);
    node("text", {x: 0, y: 12}, model.masked ? "Your score, and how far the best attacker gets" : "Score, and how far luck goes");
    for (const k of [0, 10, 20]) {
      node("line", {class: k ? "grid" : "axis", x1: edge.left, x2: end, y1: Y(k), y2: Y(k)});
      node("text", {x: edge.left - 6, y: Y(k) + 4, "text-anchor": "end"}, k);
    }
    const steps = Array.from({length: ROUNDS + 1}, (_, k) => k), luck = (k) => Math.sqrt(k * c * (1 - c));
    const line = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
    const labels = [{at: Y(10), name: "guessing", value: "10 of 20", kind: "quiet"}];
    if (model.masked) {
      node("path", {class: "wedge", d: `${line([[X(0), Y(0)], [X(20), Y(20)], [X(20), Y(10)]])}Z`});
      node("text", {class: "name", x: end - 12, y: Y(14.5), "text-anchor": "end"}, "somewhere here");
      node("text", {x: end - 12, y: Y(14.5) + 16, "text-anchor": "end"}, "guess to see");
    } else {
      const band = [...steps.map((k) => [X(k), Y(Math.min(k, k * c + luck(k)))]), ...steps.reverse().map((k) => [X(k), Y(k * c - luck(k))])];
      node("path", {class: `luck ${kind()}`, d: `${line(band)}Z`});
      node("path", {class: `ceiling ${kind()}`, d: line([[X(0), Y(0)], [X(20), Y(20 * c)]])});
      labels.push({at: Y(20 * c), name: "ceiling", value: `${most()} of 20`, kind: kind()});
    }
    node("path", {class: "guessing", d: line([[X(0), Y(0)], [X(20), Y(10)]])});
    if (n) {
      let k = 0;
      node("path", {class: "you", d: line([[X(0), Y(0)], ...played.map((ok, i) => [X(i + 1), Y(k += ok)])])});
      node("circle", {class: "you", cx: X(n), cy: Y(right), r: 4.5});
      labels.push({at: Y(right), name: "you", value: `${right} of ${n}`, kind: "you"});
    }
    labels.sort((a, b) => a.at - b.at);
    let above = 0;
    for (const label of labels) above = label.place = Math.max(label.at, above + 36);
    let below = H - edge.bottom;
    for (const label of labels.reverse()) below = (label.place = Math.min(label.place, below - 14)) - 22;
    for (const label of labels) {
      node("text", {class: `name ${label.kind}`, x: end + 10, y: label.place}, label.name);
      node("text", {x: end + 10, y: label.place + 15}, label.value);
    }
    node("text", {x: edge.left, y: H - 6}, "round 1");
    node("text", {x: end, y: H - 6, "text-anchor": "end"}, "20");
    svg.setAttribute("aria-label", `${right} of ${n} right${model.masked ? "" : `; at most ${(100 * c).toFixed(0)} in 100 on average`}`);
  };
  const paint = () => {
    const done = over(), blend = kind() === "every" ? 1 : 0;
    find(".what").textContent = kind() === "every" ? "What all steps of one run add up to, among runs of both kinds" : "One released model, among models of both kinds";
    const nobody = model.masked ? "" : `; nobody can average above <b>${most()}</b>`;
    find(".said").innerHTML = done ? `You caught <b>${caught()} of ${ROUNDS}</b>${nobody}.`
      : last || "Somebody trained this model. Was your record in the data?";
    find(".guesses").hidden = done;
    find(".after").hidden = !done;
    find(".other").textContent = kind() === "every" ? "Only the last published" : "Every step published";
    find(".rounds").innerHTML = Array.from({length: ROUNDS}, (_, i) => {
      const state = i < played.length ? (played[i] ? "right" : "wrong") : i === played.length ? "now" : "";
      return `<li class="${state}"><span class="sr">round ${i + 1}: ${state || "to come"}</span>${{right: "✓", wrong: "×"}[state] ?? ""}</li>`;
    }).join("");
    score();
    if (!plane.begin(apart(), blend, 2)) return;
    plane.clouds(apart(), LAST, blend, 0.3);
    if (!model.masked) plane.laws(apart(), LAST, blend);
    if (done) return;
    const {pen} = plane, places = path(), [x, y] = places.at(-1), ground = getComputedStyle(find("h2")).backgroundColor, ink = getComputedStyle(find("h2")).color;
    if (kind() === "every") {
      pen.beginPath();
      places.forEach(([a, b], i) => { if (i) pen.lineTo(a, b); else pen.moveTo(a, b); });
      pen.lineJoin = "round"; pen.lineWidth = 2; pen.strokeStyle = plane.colour("every"); pen.stroke();
    }
    pen.beginPath(); pen.arc(x, y, 13, 0, 7);
    pen.fillStyle = waits ? plane.colour(truth ? "with" : "without") : ink; pen.fill();
    pen.fillStyle = ground; pen.font = "700 15px system-ui, sans-serif"; pen.textAlign = "center"; pen.textBaseline = "middle";
    pen.fillText(waits ? (played.at(-1) ? "✓" : "×") : "?", x, y + 1);
    plane.canvas.setAttribute("aria-label", `The model lies ${x > plane.centre[0] ? "right" : "left"} of the middle`);
  };
  // The score as text, with a grid of the rounds and the address of the same models.
  const challenge = () => {
    const url = new URL(model.address ?? location.href), grid = [0, 10].map((i) => played.slice(i, i + 10).map((ok) => ok ? "🟩" : "⬜").join("")).join("\n");
    for (const [name, value] of [["tab", "game"], ["game.seed", seed], ...(kind() === "every" ? [["game.seen", "every"]] : [])]) url.searchParams.set(name, value);
    url.searchParams.delete("story");
    const seen = kind() === "every" ? "who sees every step" : "who sees one released model";
    return `I caught ${caught()} of ${ROUNDS}; nobody ${seen} can average above ${most()}.\n${grid}\n${decodeURIComponent(url.href)}`;
  };
  find(".guesses .without").onclick = () => answer(false);
  find(".guesses .with").onclick = () => answer(true);
  find(".again").onclick = () => start();
  find(".other").onclick = () => { model.shown = kind() === "every" ? "last" : "every"; };
  find(".send").onclick = ({target}) => {
    const text = challenge(), by_hand = () => window.prompt("This browser does not let a page copy. Copy it by hand:", text);
    const said = () => { target.textContent = "Copied"; setTimeout(() => { target.textContent = "Copy a challenge"; }, 1800); };
    navigator.clipboard ? navigator.clipboard.writeText(text).then(said, by_hand) : by_hand();
  };
  // Its arrow keys work wherever the focus is, but in what uses them itself.
  document.addEventListener("keydown", (event) => {
    const [from] = event.composedPath(), by = {ArrowLeft: false, ArrowRight: true}[event.key];
    if (by === undefined || !box.offsetParent || from.closest?.("input, textarea, select, [role=slider], [role=tab], [role=img]")) return;
    event.preventDefault();
    answer(by);
  });
  for (const name of ["every", "last", "shown"]) model.on(name, () => setTimeout(() => start(model.seed)));
  model.on("seed", () => start(model.seed));
  model.on("masked", () => paint());
  new ResizeObserver(() => paint()).observe(plane.canvas);
  new MutationObserver(() => paint()).observe(document.documentElement, {attributes: true, attributeFilter: ["style"]});
  start(model.seed);
  return box;
}
