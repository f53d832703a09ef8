// The map of what hiding gains, over T and the place of beta on its axis. The reader's run is a ring on it, dragged or moved by the
// arrow keys.
const LEVELS = ["÷2", "÷10", "÷100"];

export function render({model}) {
  const box = Object.assign(document.createElement("div"), {className: "chart"});
  box.innerHTML = `<div class="frame"><svg role="img"></svg><div class="ring" tabindex="0" role="slider"></div></div>`;
  const svg = box.querySelector("svg"), ring = box.querySelector(".ring");
  let frame = null, held = false, wanted = null;
  const within = (x) => Math.min(Math.max(x, 0), 1), short = (T) => Math.max(Math.round(Number(T.toPrecision(2))), 1);
  const across = (T) => frame.left + Math.log10(Math.max(T, 1)) / model.given.decades * frame.wide;
  const upright = (place) => frame.bottom - place * frame.tall;
  const runAt = (x, y) => [short(10 ** (within((x - frame.left) / frame.wide) * model.given.decades)), within((frame.bottom - y) / frame.tall)];
  const draw = () => {
    const W = svg.clientWidth, H = svg.clientHeight, {given} = model;
    if (!W || !H || !given.bands) return;
    frame = {left: 48, top: 28, bottom: H - 44, wide: W - 48 - 14};
    frame.tall = frame.bottom - frame.top;
    const out = [], {left, top, bottom, wide, tall} = frame, text = (x, y, words, more = "") => out.push(`<text x="${x}" y="${y}" ${more}>${words}</text>`);
    out.push(`<svg class="part" x="${left}" y="${top}" width="${wide}" height="${tall}" viewBox="0 0 1000 1000" preserveAspectRatio="none">
      <rect width="1000" height="1000" class="${given.none ? "none" : "nothing"}"/>${given.bands.map((d, i) => `<path class="band${i}" d="${d}"/>`).join("")}${given.lines.map((d) => `<path class="line" d="${d}"/>`).join("")}</svg>`);
    for (const [place, words] of given.ticks) text(left - 8, upright(place) + 4, words, 'text-anchor="end"');
    const gap = upright(given.broken);
    out.push(`<rect class="gap" x="${left}" y="${gap - 4}" width="${wide}" height="4"/><path class="break" d="M${left - 6} ${gap + 3}l12 -5M${left - 6} ${gap - 2}l12 -5"/>`);
    for (const [T, words] of decades(1, 10 ** given.decades, wide / 60 + 1)) text(across(T), bottom + 19, words, 'text-anchor="middle"');
    text(2, 12, "β, share of the noise along the directions");
    text(left + wide, bottom + 38, "T, training steps", 'text-anchor="end"');
    if (!given.none && !given.cooled) { // β = 1 itself, which has no height
      out.push(`<rect class="nothing edge" x="${left}" y="${top - 3}" width="${wide}" height="5"/>`);
      if (W > 520) text(left + wide - 40, 12, "β = 1, the line below: hiding gains nothing, at any T", 'text-anchor="end"');
    }
    const pill = upright(4 * given.step);
    given.labels.forEach((x, i) => {
      if (x == null) return;
      const p = left + x * wide, half = 6 + 4 * LEVELS[i].length;
      out.push(`<rect class="label" x="${p - half}" y="${pill - 11}" width="${2 * half}" height="22" rx="11"/>`);
      text(p, pill + 4, LEVELS[i], 'text-anchor="middle" class="level"');
    });
    const x = across(given.T), y = upright(given.place), side = x > left + wide - 90;
    out.push(`<path class="now" d="M${left} ${y}H${x}V${bottom}"/>`);
    text(x + (side ? -18 : 18), y + (y < top + 18 ? 24 : -10), "your run", `text-anchor="${side ? "end" : "start"}" class="name yours"`);
    svg.setAttribute("viewBox", `0 0 ${W} ${H}`);
    svg.setAttribute("aria-label", given.said);
    svg.innerHTML = out.join("");
    if (!held) put(x, y);
    for (const [name, value] of Object.entries({label: "your run on the map", valuenow: given.T, valuetext: given.told})) ring.setAttribute(`aria-${name}`, value);
  };
  const put = (x, y) => { ring.style.left = `${x}px`; ring.style.top = `${y}px`; };
  const ask = ([T, place], still) => { model.asked = [T, place, still, Date.now()]; };
  const move = (event) => {
    const {left, top} = svg.getBoundingClientRect(), at = runAt(event.clientX - left, event.clientY - top);
    put(across(at[0]), upright(at[1])); // at once; what is behind it follows
    if (String(at) !== String(wanted)) ask(wanted = at, true);
  };
  ring.addEventListener("pointerdown", (event) => { event.preventDefault(); ring.focus(); ring.setPointerCapture(event.pointerId); held = true; wanted = null; });
  ring.addEventListener("pointermove", (event) => { if (held) move(event); });
  for (const kind of ["pointerup", "pointercancel"]) ring.addEventListener(kind, () => { if (held) { held = false; ask(wanted ?? [model.given.T, model.given.place], false); draw(); } });
  svg.addEventListener("click", (event) => { const {left, top} = svg.getBoundingClientRect(); ask(runAt(event.clientX - left, event.clientY - top), false); });
  ring.addEventListener("keydown", (event) => {
    const {T, place, decades, step, broken} = model.given, by = {ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}[event.key];
    if (!by) return;
    event.preventDefault();
    const next = by[0] > 0 ? Math.max(T + 1, T * 10 ** 0.1) : by[0] ? Math.min(T - 1, T / 10 ** 0.1) : T;
    const edge = by[1] > 0 ? broken - 1e-6 : broken + 1e-6, moved = place + by[1] * (place > edge ? 0.01 : step);
    ask([by[0] ? Math.min(short(next), 10 ** decades) : T, within(place <= edge && moved > broken ? broken : moved)], false);
  });
  exporting(box, {name: "helps", svg: () => svg, says: () => [model.given.said], rows: () => [["T", "beta", "divides"], ...model.table]});
  model.on("given", () => requestAnimationFrame(draw));
  new ResizeObserver(draw).observe(svg);
  draw();
  return box;
}
