// A figure of curves: axes, lines, dots, names at the lines' ends, a handle on the x axis, and values read under a hairline. What is
// drawn is given (chart.py); nothing here knows of bounds or servers, so that any page can draw with `Chart`.
const NS = "http://www.w3.org/2000/svg";
const NARROW = 560, NAME = 17, CHARACTER = 6.9; // px: of a figure with short names, from name to name, of a letter

// A privacy loss with three digits, rounded up, as `format_number` writes it.
function up(x) {
  if (x == null || Number.isNaN(x)) return "–";
  if (!Number.isFinite(x)) return "∞";
  if (x === 0) return "0";
  let [mantissa, e] = x.toExponential(2).split("e");
  if (Number(`${mantissa}e${e}`) < x) mantissa = (Number(mantissa) + 0.01).toFixed(2);
  if (mantissa === "10.00") [mantissa, e] = ["1.00", Number(e) + 1];
  e = Number(e);
  if (e >= -4 && e < 5) return grouped(Number(`${mantissa}e${e}`).toFixed(Math.max(2 - e, 0)));
  return `${mantissa}\u202f×\u202f${power(e)}`;
}
const grouped = (text) => text.replace(/^\d+/, (whole) => whole.length > 3 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") : whole);
// A value of an axis to three digits: a count in groups, a share as it is, a small one as a power.
function near(x) {
  if (!Number.isFinite(x)) return "∞";
  const short = Number(x.toPrecision(3));
  if (Number.isInteger(x) && x < 1e7) return grouped(String(x));
  if (short === 0 || (Math.abs(short) >= 1e-3 && Math.abs(short) < 1e5)) return grouped(String(short));
  const [mantissa, e] = short.toExponential().split("e");
  return mantissa === "1" ? power(Number(e)) : `${mantissa}\u202f×\u202f${power(Number(e))}`;
}
const safe = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const hue = ({light, dark}) => `light-dark(${light},${dark})`;

// The next round number.
function nice(x) {
  const tens = 10 ** Math.floor(Math.log10(x));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((m) => m * tens).find((at) => at >= x * 0.999);
}
// The ticks of an axis with their texts, where it does not bring them: of an even one the multiples of a round number, at most `parts`
// and one; of a logarithmic one the decades, at most a dozen, and 2 and 5 too where there are few.
function ticksOf({start, end, log, ticks, parts}) {
  if (ticks) return ticks;
  const [low, high] = [Math.min(start, end), Math.max(start, end)];
  if (!log) {
    const step = nice((high - low) / parts), first = Math.ceil(low / step);
    return Array.from({length: Math.floor(high * 1.001 / step) - first + 1}, (_, i) => (first + i) * step).map((x) => [x, near(x)]);
  }
  const found = decades(low, high, 12), first = Math.floor(Math.log10(low));
  if (high > 150 * low) return found;
  const between = [0, 1, 2, 3].flatMap((i) => [2, 5].map((m) => Number(`${m}e${first + i}`))).filter((x) => x >= low && x <= high);
  return [...found, ...between.map((x) => [x, near(x)])];
}

// From values to pixels and back.
function scale({start, end, log}, from, to) {
  const place = log ? Math.log : (x) => x, a = place(start), b = place(end);
  const at = (x) => from + (place(x) - a) / (b - a) * (to - from);
  return {at, value: (p) => { const v = a + (p - from) / (to - from) * (b - a); return log ? Math.exp(v) : v; }};
}
// Starts of blocks of these heights, near the wanted places: without overlap, and within the room if they fit.
function apart(wanted, heights, room) {
  const order = wanted.map((_, i) => i).sort((i, j) => wanted[i] - wanted[j]), starts = [];
  let end = 0;
  for (const i of order) { starts[i] = Math.max(wanted[i] - heights[i] / 2, end); end = starts[i] + heights[i]; }
  for (const i of order.reverse()) { room -= heights[i]; starts[i] = room = Math.min(starts[i], room); }
  return starts.map((start) => room >= 0 ? Math.max(start, 0) : start - room);
}

class Chart {
  // `given` has what chart.py lists; `asks(x, held)` hears where the reader wants the handle, `reads(words, values)` what is read.
  constructor(box, asks = () => {}, reads = () => {}) {
    Object.assign(this, {box, asks, reads, given: null, played: null, at: null}); // `at`: the place that is read, in pixels
    box.innerHTML = `<div class="frame"><svg tabindex="0" role="img"></svg><div class="pill" tabindex="0" role="slider" hidden></div></div>
      <div class="missing"></div><p class="sr" role="status"></p>`;
    [this.svg, this.pill, this.missing, this.heard] = ["svg", ".pill", ".missing", ".sr"].map((each) => box.querySelector(each));
    box.querySelector(".frame").chart = this;
    new ResizeObserver(() => this.draw()).observe(this.svg);
    this.listens();
    this.moves();
  }
  set(given) {
    this.given = given;
    this.missing.innerHTML = given.missing ?? "";
    this.box.classList.toggle("lacks", Boolean(given.missing));
    requestAnimationFrame(() => this.box.getRootNode().host?.style.setProperty("--tall", given.missing ? "180px" : "")); // once it has a host
    this.draw();
  }
  get shown() { return this.given.lines.filter(({key}) => !this.given.muted?.includes(key)); }

  draw() {
    const {given, svg} = this, W = svg.clientWidth, H = svg.clientHeight;
    if (!given || !W || !H) return;
    const {across, up: upright} = given, narrow = this.narrow = W < NARROW, named = !given.unnamed && given.lines.some(({name, inside}) => name && !inside);
    const wide = Math.max(...ticksOf(upright).map(([, text]) => text.length), 2) * CHARACTER;
    const frame = this.frame = {left: Math.max(28, wide + 12), right: W - (named ? narrow ? 108 : 158 : 18), top: 28, bottom: H - (given.handle ? 56 : 44)};
    this.x = scale(across, frame.left, frame.right);
    this.y = scale(upright, frame.bottom, frame.top);
    svg.setAttribute("viewBox", `0 0 ${W} ${H}`);
    svg.setAttribute("aria-label", given.said);
    svg.innerHTML = `<defs><clipPath id="frame"><rect x="${frame.left}" y="${frame.top - 3}" width="${frame.right - frame.left + 3}" height="${frame.bottom - frame.top + 6}"/></clipPath>
      <clipPath id="played"><rect x="0" y="0" width="${W}" height="${H}"/></clipPath></defs>${this.axes()}<g clip-path="url(#frame)">${this.levels()}${this.paths()}</g>
      <g class="dots">${this.dots()}</g><g class="names">${this.names()}</g><g class="reading"></g>`;
    this.place();
    if (this.played != null || this.shown.some(({plays}) => plays)) this.play(this.played ?? given.handle.at);
    if (this.at != null) this.read(this.at);
  }
  axes() {
    const {given: {across, up: upright, title}, frame, x, y} = this, out = [];
    const room = this.given.handle ? 26 + 4 * String(this.given.handle.label).length : 0, at = this.given.handle && x.at(this.given.handle.at);
    for (const [value, text] of ticksOf(upright)) {
      const h = y.at(value);
      out.push(`<line class="grid" x1="${frame.left}" x2="${frame.right}" y1="${h}" y2="${h}"/><text x="${frame.left - 8}" y="${h + 4}" text-anchor="end">${safe(text)}</text>`);
    }
    out.push(`<line class="axis" x1="${frame.left}" x2="${frame.right}" y1="${frame.bottom}" y2="${frame.bottom}"/>`);
    let last = -Infinity;
    for (const [value, text] of [...ticksOf(across)].sort(([a], [b]) => x.at(a) - x.at(b))) {
      const p = x.at(value), half = text.length * CHARACTER / 2;
      if (p < frame.left - 1 || p > frame.right + 1) continue;
      out.push(`<line class="axis" x1="${p}" x2="${p}" y1="${frame.bottom}" y2="${frame.bottom + 5}"/>`);
      if (Math.abs(p - at) < room + half || p - half < last + 6) continue;
      last = p + half;
      out.push(`<text class="tick" data-at="${p}" x="${p}" y="${frame.bottom + 19}" text-anchor="middle">${safe(text)}</text>`);
    }
    const end = Math.max(frame.right, Math.min(this.svg.clientWidth - 2, CHARACTER * across.title.length)); // a long one reaches beyond the frame
    out.push(`<text class="title" x="2" y="12">${safe(title)}</text><text x="${end}" y="${frame.bottom + (this.given.handle ? 47 : 38)}" text-anchor="end">${safe(across.title)}</text>`);
    return out.join("");
  }
  levels() {
    const {given: {levels = [], handle}, frame, x, y} = this;
    const line = (h, colour, name) => `<line class="level" style="stroke:${colour}" x1="${frame.left}" x2="${frame.right}" y1="${h}" y2="${h}"/>`
      + `<text class="name" style="fill:${colour}" x="${frame.right - 6}" y="${h - 7}" text-anchor="end">${safe(name)}</text>`;
    const drawn = levels.map(({y: value, name, ...look}) => line(y.at(value), hue(look), name)).join("");
    const p = handle && x.at(handle.at);
    return drawn + (Number.isFinite(p) ? `<line class="now" x1="${p}" x2="${p}" y1="${frame.top}" y2="${frame.bottom}"/>` : "");
  }
  path({x, y}) {
    let drawn = "", pen = false;
    for (let i = 0; i < x.length; i++) {
      const [p, h] = [this.x.at(x[i]), this.y.at(y[i])];
      if (!Number.isFinite(p) || !Number.isFinite(h)) { pen = false; continue; }
      drawn += `${pen ? "L" : "M"}${p.toFixed(1)} ${Math.min(Math.max(h, -9999), 9999).toFixed(1)}`;
      pen = true;
    }
    return drawn;
  }
  paths() { // thick ones first, so that none hides another
    return [...this.shown].sort((a, b) => b.width - a.width).map((line) => {
      const d = this.path(line), dash = line.dash?.length ? ` stroke-dasharray="${line.dash.join(" ")}"` : "";
      const stroke = (more) => `<path d="${d}" style="stroke:${hue(line)}" stroke-width="${line.width}"${dash}${more}/>`;
      return (line.plays ? stroke(` opacity="${Math.max(0.4 * (line.alpha ?? 1), 0.3)}"`) : "")
        + stroke(` data-key="${safe(line.key)}" opacity="${line.alpha ?? 1}"${line.plays ? ' clip-path="url(#played)"' : ""}`);
    }).join("");
  }
  dots() {
    const {given: {dots = [], muted = []}, x, y, frame} = this;
    const seen = dots.filter(({key}) => !muted.includes(key)); // without any curve the run is a mark alone
    return (seen.length ? seen : dots.filter(({key}) => this.given.lines.some((line) => line.key === key && line.bold))).map((dot) => {
      const p = x.at(dot.x), h = y.at(dot.y), size = dot.size ?? 4.5;
      if (!Number.isFinite(p) || !Number.isFinite(h) || p < frame.left - 1 || p > frame.right + 1 || h > frame.bottom + 1) return "";
      const look = `data-key="${safe(dot.key)}" style="${dot.hollow ? `fill:var(--zx-surface);stroke:${hue(dot)};stroke-width:2.5` : `fill:${hue(dot)}`}"`;
      const told = dot.name ? `<text class="name" style="fill:${hue(dot)}" x="${p - 8}" y="${h + 18}" text-anchor="end">${safe(dot.name)}</text>` : "";
      if (h >= frame.top - 3) return `<circle ${look} cx="${p}" cy="${h}" r="${size}"/>${told}`;
      return `<path ${look} d="M${p - 5} ${frame.top + 8}h10l-5 -9z"/>`; // beyond the frame
    }).join("");
  }
  // Names at the ends of lines, in a margin that no line enters: lines that end together share a place, and no two names overlap.
  names() {
    const {given, frame, y, narrow} = this, blocks = [], most = narrow ? 15 : 22;
    const brief = (words) => words.length > most ? `${words.slice(0, most - 1)}…` : words;
    if (given.unnamed) return "";
    const within = this.shown.filter(({inside}) => inside).map((line) => { // beside the line, where it leaves the frame
      const i = Array.from(line.x).findLastIndex((x, j) => this.x.at(x) <= frame.right - 90 && y.at(line.y[j]) < frame.bottom - 24 && y.at(line.y[j]) > frame.top + 12);
      if (i < 0) return "";
      const p = this.x.at(line.x[i]), h = y.at(line.y[i]) - 4, ends = p + 20 + CHARACTER * line.name.length;
      const crossed = this.shown.some((other) => other !== line && Array.from(other.x).some((x, j) => Math.abs(y.at(other.y[j]) - h) < NAME && this.x.at(x) > p && this.x.at(x) < ends));
      return `<text class="name" x="${p + (crossed ? -10 : 10)}" y="${h + (crossed ? 12 : 0)}" text-anchor="${crossed ? "end" : "start"}" style="fill:${hue(line)}">${safe(line.name)}</text>`; // on the side where no other line is
    });
    for (const line of this.shown.filter(({name, inside}) => name && !inside)) {
      const end = Array.from(line.y).findLast(Number.isFinite);
      if (end === undefined && !line.note) continue;
      const h = end === undefined ? -1 : y.at(end), off = h < frame.top - 1 ? " ↑" : h > frame.bottom + 1 ? " ↓" : "";
      const at = Math.min(Math.max(h, frame.top), frame.bottom), note = line.note ? [given.reading?.[line.key] ?? line.note] : [];
      const name = brief(narrow ? line.brief || line.name : line.name) + off;
      const twin = blocks.find((block) => Math.abs(block.at - at) < 1.5 && !block.bold && !block.note);
      if (twin && !line.bold && !note.length) twin.words.push(`= ${name}`);
      else blocks.push({at, words: [name, ...note], note: note.length, bold: line.bold, colour: hue(line), key: line.key});
    }
    const heights = blocks.map(({words}) => NAME * words.length);
    const tops = apart(blocks.map(({at}) => at - frame.top + 8), heights, frame.bottom - frame.top + 16);
    return within.join("") + blocks.map(({words, bold, colour, key, note}, i) => words.map((text, line) =>
      `<text class="${line && note ? "note" : "end"}" data-key="${safe(key)}" style="fill:${colour};font-weight:${bold ? 650 : 500}" x="${frame.right + 10}" y="${frame.top - 8 + tops[i] + NAME * line + 12}">${safe(text)}</text>`,
    ).join("")).join("");
  }
  place() {
    const {given: {handle, across}, pill, x, frame} = this, p = handle && x.at(handle.at);
    pill.hidden = !Number.isFinite(p);
    if (pill.hidden) return;
    pill.textContent = handle.label;
    pill.style.left = `${Math.min(Math.max(p, frame.left + pill.offsetWidth / 2 - 8), frame.right)}px`; // it covers no label of the y axis
    pill.style.top = `${frame.bottom + 3}px`;
    for (const [name, value] of Object.entries({label: handle.title, valuetext: handle.label, valuenow: handle.at, valuemin: across.start, valuemax: across.end})) pill.setAttribute(`aria-${name}`, value);
  }
  // Show the lines that play up to a place on the x axis, their dots with them.
  play(at) {
    this.played = at;
    const {svg, x, y, frame} = this, rect = svg.querySelector("#played rect");
    if (!rect) return;
    const p = at === null ? frame.right : x.at(at);
    rect.setAttribute("width", Math.max(p, 0) + 3);
    for (const line of this.shown.filter(({plays}) => plays)) {
      const dot = svg.querySelector(`circle[data-key="${line.key}"]`), value = between(line, at ?? this.given.handle?.at);
      if (!dot || !Number.isFinite(value)) continue;
      dot.setAttribute("cx", p);
      dot.setAttribute("cy", y.at(value));
    }
  }
  // A hairline at the sample that is nearest to a place, and what the lines say there, until it is null.
  read(pixels) {
    const layer = this.svg.querySelector(".reading"), lines = this.given && this.shown.filter(({reads}) => reads !== false);
    if (!layer || !lines?.length) return;
    this.at = pixels;
    for (const tick of this.svg.querySelectorAll(".tick")) tick.style.visibility = pixels != null && Math.abs(tick.dataset.at - pixels) < 52 ? "hidden" : "";
    if (pixels == null) {
      layer.innerHTML = "";
      return this.tell(null, null);
    }
    const {given, frame, x, y} = this, samples = lines[0].x;
    let i = 0;
    for (let j = 1; j < samples.length; j++) if (Math.abs(x.at(samples[j]) - pixels) < Math.abs(x.at(samples[i]) - pixels)) i = j;
    const p = x.at(samples[i]), values = {}, value = (given.values ?? samples)[i];
    const words = given.across.percent ? `${near(100 * value)}\u202f% ${given.across.symbol}` : `${given.across.symbol} = ${near(value)}`;
    for (const line of given.lines) if (line.x.length === samples.length) values[line.key] = line.y[i];
    const dots = lines.filter(({key}) => y.at(values[key]) >= frame.top - 1 && y.at(values[key]) <= frame.bottom + 1)
      .map((line) => `<circle cx="${p}" cy="${y.at(values[line.key])}" r="4" style="fill:${hue(line)}"/>`);
    const half = words.length * CHARACTER / 2 + 6, {pill} = this, off = half + pill.offsetWidth / 2 + 4, held = Number.parseFloat(pill.style.left);
    let middle = Math.min(Math.max(p, frame.left + half), frame.right - half + 10);
    if (!pill.hidden && Math.abs(middle - held) < off) middle = held + (middle < held && held - off > half || held + off + half > this.svg.clientWidth ? -off : off); // beside the handle, which would cover it
    layer.innerHTML = `<line class="hair" x1="${p}" x2="${p}" y1="${frame.top}" y2="${frame.bottom}"/>${dots.join("")}
      <rect class="patch" x="${middle - half}" y="${frame.bottom + 6}" width="${2 * half}" height="18"/><text class="read" x="${middle}" y="${frame.bottom + 19}" text-anchor="middle">${safe(words)}</text>`;
    this.tell(words, values);
  }
  tell(words, values) {
    const {given, svg} = this, names = svg.querySelector(".names");
    given.reading = words && Object.fromEntries(Object.entries(values).map(([key, value]) => [key, `${up(value)} there`]));
    if (given.lines.some(({note}) => note) && names) names.innerHTML = this.names();
    this.reads(words, values);
  }
  listens() {
    const {svg} = this, place = (event) => event.clientX - svg.getBoundingClientRect().left;
    const inside = (p) => this.frame && p >= this.frame.left - 4 && p <= this.frame.right + 4;
    let pressed = null;
    // A curve that the reader draws: time moves forward only, and what is drawn over most of the width goes on level to its end.
    let drawn = null;
    svg.addEventListener("pointerdown", (event) => {
      if (!this.draws || !inside(place(event))) return;
      svg.setPointerCapture(event.pointerId);
      drawn = [];
    });
    svg.addEventListener("pointermove", (event) => {
      if (!drawn) return;
      const {frame} = this, p = Math.min(Math.max(place(event), frame.left), frame.right);
      if (drawn.length && p < drawn.at(-1)[0] + 2) return;
      drawn.push([p, Math.min(Math.max(event.clientY - svg.getBoundingClientRect().top, frame.top), frame.bottom)]);
      svg.querySelector(".reading").innerHTML = `<path class="drawing" d="M${drawn.map(([a, b]) => `${a.toFixed(1)} ${b.toFixed(1)}`).join("L")}"/>`;
    });
    for (const kind of ["pointerup", "pointercancel"]) svg.addEventListener(kind, () => {
      const points = drawn, {frame} = this;
      drawn = null;
      if (!points?.length) return;
      svg.querySelector(".reading").innerHTML = "";
      if (points.at(-1)[0] - points[0][0] < 0.6 * (frame.right - frame.left)) return;
      const every = Math.ceil(points.length / 60), kept = points.filter((_, i) => i % every === 0 || i === points.length - 1);
      this.draws([...kept, [frame.right, points.at(-1)[1]]].map(([p, h]) => [this.x.value(p), this.y.value(h)]));
    });
    svg.addEventListener("pointerdown", (event) => { pressed = place(event); if (event.pointerType !== "mouse" && inside(pressed) && !this.draws) this.read(pressed); });
    svg.addEventListener("pointermove", (event) => { if (!this.draws) this.read(inside(place(event)) ? place(event) : null); });
    svg.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") this.read(null); });
    svg.addEventListener("click", (event) => {
      const p = place(event);
      if (event.pointerType === "mouse" && this.given?.handle && inside(p) && Math.abs(p - pressed) < 4 && !this.draws) this.asks(this.x.value(p), false);
    });
    document.addEventListener("pointerdown", (event) => { if (this.at != null && !event.composedPath().includes(this.box)) this.read(null); }, true);
    svg.addEventListener("keydown", (event) => {
      const by = {ArrowRight: 1, ArrowLeft: -1}[event.key], {frame} = this;
      if (event.key === "Escape") this.read(null);
      if (!by || !frame) return;
      event.preventDefault();
      const from = this.at ?? (this.given.handle ? this.x.at(this.given.handle.at) : frame.left);
      this.read(Math.min(Math.max(from + by * Math.max((frame.right - frame.left) / 100, 4), frame.left), frame.right));
      const {reading, lines} = this.given, best = lines.filter(({aloud}) => aloud).map(({key, name}) => `${name} ${reading?.[key]?.replace(" there", "")}`);
      this.heard.textContent = `${svg.querySelector(".read")?.textContent}: ${best.join(", ")}`;
    });
    svg.addEventListener("blur", () => this.read(null));
  }
  moves() {
    const {pill} = this;
    let held = false;
    const within = (p) => this.x.value(Math.min(Math.max(p, this.frame.left), this.frame.right));
    pill.addEventListener("pointerdown", (event) => { event.preventDefault(); pill.focus(); pill.setPointerCapture(event.pointerId); held = true; });
    pill.addEventListener("pointermove", (event) => { if (held) this.asks(within(event.clientX - this.svg.getBoundingClientRect().left), true); });
    for (const kind of ["pointerup", "pointercancel"]) pill.addEventListener(kind, () => { if (held) this.asks(null, false); held = false; });
    pill.addEventListener("keydown", (event) => {
      const by = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5}[event.key];
      if (!by) return;
      event.preventDefault();
      this.asks(within(this.x.at(this.given.handle.at) + by * (this.frame.right - this.frame.left) / 100), false);
    });
  }
}
// A line's value at a place, interpolated.
function between({x, y}, at) {
  let i = 0;
  while (i < x.length - 1 && x[i + 1] <= at) i++;
  const j = Math.min(i + 1, x.length - 1);
  return x[j] > x[i] ? y[i] + (y[j] - y[i]) * Math.min(Math.max((at - x[i]) / (x[j] - x[i]), 0), 1) : y[i];
}
