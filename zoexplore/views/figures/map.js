// The map of what hiding gains: beta is linear up to EDGE, above a gap a strip has the rest by the logarithm of 1 - beta. The reader's
// run is a ring on it, dragged or moved by the arrow keys.
const EDGE = 0.99, STRIP = 44, GAP = 12, DEEP = 4; // of the main part; px; decades of 1 - beta in the strip
const LEVELS = ["÷2", "÷10", "÷100"];

export function render({model}) {
  const box = Object.assign(document.createElement("div"), {className: "chart"});
  box.innerHTML = `<div class="frame"><svg role="img"></svg><div class="ring" tabindex="0" role="slider"></div></div>`;
  const svg = box.querySelector("svg"), ring = box.querySelector(".ring");
  let frame = null, held = false, wanted = null;
  const across = (T) => frame.left + Math.log10(Math.max(T, 1)) / model.given.decades * frame.wide;
  const upright = (beta) => {
    if (beta <= EDGE) return frame.bottom - beta / EDGE * frame.tall;
    const deep = Math.min(-Math.log10(Math.max((1 - beta) / (1 - EDGE), 1e-9)), DEEP) / DEEP;
    return frame.top + STRIP * (1 - deep);
  };
  const runAt = (x, y) => {
    const T = 10 ** (Math.min(Math.max((x - frame.left) / frame.wide, 0), 1) * model.given.decades), strip = frame.top + STRIP;
    const short = Math.max(Math.round(Number(T.toPrecision(2))), 1);
    if (y <= frame.top + 3) return [short, 1];
    if (y < strip + GAP / 2) return [short, Number((1 - (1 - EDGE) * 10 ** (-DEEP * (1 - Math.min((y - frame.top) / STRIP, 1)))).toPrecision(6))];
    return [short, Number((Math.min(Math.max((frame.bottom - y) / frame.tall, 0), 1) * EDGE).toFixed(2))];
  };
  const draw = () => {
    const W = svg.clientWidth, H = svg.clientHeight, {given} = model;
    if (!W || !H || !given.main) return;
    frame = {left: 48, top: 28, bottom: H - 44, wide: W - 48 - 14};
    frame.tall = frame.bottom - frame.top - STRIP - GAP;
    const out = [], {left, top, bottom, wide, tall} = frame, text = (x, y, words, more = "") => out.push(`<text x="${x}" y="${y}" ${more}>${words}</text>`);
    const part = (y, high, name) => out.push(`<svg class="part" x="${left}" y="${y}" width="${wide}" height="${high}" viewBox="0 0 1000 1000" preserveAspectRatio="none">
      <rect width="1000" height="1000" class="${given.none ? "none" : "nothing"}"/>${given[name].bands.map((d, i) => `<path class="band${i}" d="${d}"/>`).join("")}${given[name].lines.map((d) => `<path class="line" d="${d}"/>`).join("")}</svg>`);
    part(top, STRIP, "strip");
    part(top + STRIP + GAP, tall, "main");
    for (const [value, words] of [[0, "0"], [0.25, "0.25"], [0.5, "0.5"], [0.75, "0.75"], [EDGE, String(EDGE)], [1, "1"]]) text(left - 8, upright(value) + 4, words, 'text-anchor="end"');
    out.push(`<path class="break" d="M${left - 6} ${top + STRIP + GAP + 3}l12 -5M${left - 6} ${top + STRIP + 2}l12 -5"/>`);
    const every = wide / given.decades < 60 ? 2 : 1;
    for (let e = 0; e <= given.decades; e += every) text(left + e / given.decades * wide, bottom + 19, e < 4 ? 10 ** e : `10${[...String(e)].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]).join("")}`, 'text-anchor="middle"');
    text(2, 12, "β, share of the noise along the directions");
    text(left + wide, bottom + 38, "T, training steps", 'text-anchor="end"');
    if (!given.none && !given.cooled && W > 520) text(left + wide - 40, 12, "β = 1: hiding gains nothing, at any T", 'text-anchor="end"');
    const pill = upright(0.2);
    given.labels.forEach((x, i) => {
      if (x == null) return;
      const p = left + x * wide, half = 6 + 4 * LEVELS[i].length;
      out.push(`<rect class="label" x="${p - half}" y="${pill - 11}" width="${2 * half}" height="22" rx="11"/>`);
      text(p, pill + 4, LEVELS[i], 'text-anchor="middle" class="level"');
    });
    const x = across(given.T), y = upright(given.beta), side = x > left + wide - 90;
    out.push(`<path class="now" d="M${left} ${y}H${x}V${bottom}"/>`);
    text(x + (side ? -18 : 18), y - 10, "your run", `text-anchor="${side ? "end" : "start"}" class="name yours"`);
    svg.setAttribute("viewBox", `0 0 ${W} ${H}`);
    svg.setAttribute("aria-label", given.said);
    svg.innerHTML = out.join("");
    if (!held) put(x, y);
    for (const [name, value] of Object.entries({label: "your run on the map", valuenow: given.T, valuetext: given.told})) ring.setAttribute(`aria-${name}`, value);
  };
  const put = (x, y) => { ring.style.left = `${x}px`; ring.style.top = `${y}px`; };
  const ask = ([T, beta], still) => { model.asked = [T, beta, still, Date.now()]; };
  const move = (event) => {
    const {left, top} = svg.getBoundingClientRect(), at = runAt(event.clientX - left, event.clientY - top);
    put(across(at[0]), upright(at[1])); // at once; what is behind it follows
    if (String(at) !== String(wanted)) ask(wanted = at, true);
  };
  ring.addEventListener("pointerdown", (event) => { event.preventDefault(); ring.focus(); ring.setPointerCapture(event.pointerId); held = true; wanted = null; });
  ring.addEventListener("pointermove", (event) => { if (held) move(event); });
  for (const kind of ["pointerup", "pointercancel"]) ring.addEventListener(kind, () => { if (held) { held = false; ask(wanted ?? [model.given.T, model.given.beta], false); draw(); } });
  svg.addEventListener("click", (event) => { const {left, top} = svg.getBoundingClientRect(); ask(runAt(event.clientX - left, event.clientY - top), false); });
  ring.addEventListener("keydown", (event) => {
    const {T, beta, decades} = model.given, by = {ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}[event.key];
    if (!by) return;
    event.preventDefault();
    const most = 10 ** decades, next = by[0] > 0 ? Math.max(T + 1, T * 10 ** 0.1) : Math.min(T - 1, T / 10 ** 0.1);
    const step = beta > EDGE || (beta === EDGE && by[1] > 0) ? 0.001 : 0.05;
    ask([by[0] ? Math.min(Math.max(Math.round(Number(next.toPrecision(2))), 1), most) : T, by[1] ? Number(Math.min(Math.max(step < 0.01 ? beta + by[1] * step : Math.min(beta + by[1] * step, EDGE), 0), 1).toFixed(3)) : beta], false);
  });
  const csv = () => `# ${model.given.said}\n# ${location.href}\nT,beta,divides\n${model.table.map((row) => row.join(",")).join("\n")}\n`;
  exporting(box, {name: "helps", svg: () => svg, foot: () => [model.given.said, location.href], csv});
  model.on("given", () => requestAnimationFrame(draw));
  new ResizeObserver(draw).observe(svg);
  draw();
  return box;
}
