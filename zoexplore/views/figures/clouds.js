// The clouds, run after run, and the figure's curves in step with them.
// ms: of a run, after it, of the switch from one reading to the other, and between two pictures
const TAKES = 5600, RESTS = 1800, GLIDES = 160, APART = 25;

export function render({model}) {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const box = document.createElement("div");
  box.className = "box";
  box.innerHTML = `<p class="what">Each mark is one trained model, with your record or another (or none) in its place; the smaller ε, the closer the clouds</p><canvas role="img"></canvas>${CAPTIONS}
    <p class="play"><button type="button"></button><span></span></p>`;
  const canvas = box.querySelector("canvas"), button = box.querySelector("button"), counter = box.querySelector(".play span");
  const plane = new Plane(box);
  // The chart's curves up to the step that is played.
  const curves = () => window.dispatchEvent(new CustomEvent("zoexplore-plays", {detail: {of: model.of, at: Math.max(1, model.steps * frame / LAST)}}));
  let playing = !still, frame = still ? LAST : 0, rested = 0, blend = model.shown === "every" ? 1 : 0, before = 0, painted = 0, drawn = -1, ticks = false;
  const group = (n) => Math.round(n).toLocaleString("en").replaceAll(",", "\u202f");
  const label = () => {
    button.textContent = playing ? "❚❚" : "▶";
    button.setAttribute("aria-label", playing ? "Pause" : "Play");
  };
  const paint = (whole) => {
    if (!model.every.length || !plane.begin(model, blend, 2)) return;
    plane.clouds(model, frame, blend);
    plane.laws(model, frame, blend);
    counter.textContent = `step ${group(model.steps * frame / LAST)} of ${group(model.steps)}`;
    const picture = Math.floor(2 * frame);
    if (!still && (whole || picture !== drawn)) curves();
    drawn = picture;
    const [half] = plane.shape(model, LAST, goal());
    canvas.setAttribute("aria-label", `Runs with and without your record, ${(2 * half).toPrecision(2)} widths of the noise apart`);
  };
  // A frame is asked for only while something is to move and somebody can see it.
  const moves = () => canvas.offsetParent && !document.hidden && (playing || Math.abs(goal() - blend) > 1e-3);
  const goal = () => model.shown === "every" ? 1 : 0;
  const tick = (now) => {
    const passed = Math.min(Math.max(now - before, 0), 100);  // a frame may be older than the start
    before = now;
    const glides = Math.abs(goal() - blend) > 1e-3;
    if (glides) blend = still ? goal() : mix(blend, goal(), Math.min(1, passed / GLIDES));
    if (playing && frame >= LAST) {
      rested += passed;
      if (rested > RESTS) frame = rested = 0;
    } else if (playing) frame = Math.min(LAST, frame + LAST * passed / TAKES);
    if (glides || now - painted > APART) { // clouds drift slowly: every other frame is left to the sliders
      paint();
      painted = now;
    }
    ticks = moves();
    if (ticks) requestAnimationFrame(tick);
  };
  const start = () => {
    if (ticks || !(ticks = moves())) return;
    before = performance.now();
    requestAnimationFrame(tick);
  };
  button.onclick = () => { playing = !playing; if (playing && frame >= LAST) frame = 0; label(); start(); };
  let due = false;
  const redraw = () => { // once a frame, however much of it changes
    if (due) return;
    due = true;
    requestAnimationFrame(() => { due = false; paint(true); start(); });
  };
  for (const name of ["every", "last", "steps"]) model.on(name, () => { if (!playing) frame = LAST; redraw(); });
  model.on("shown", redraw);
  model.on("again", () => { frame = still ? LAST : 0; rested = 0; playing = !still; label(); redraw(); });
  new ResizeObserver(redraw).observe(canvas); // which also tells when it is shown again
  document.addEventListener("visibilitychange", start);
  new MutationObserver(() => paint()).observe(document.documentElement, {attributes: true, attributeFilter: ["style"]});
  label();
  model.on("after_render", redraw);
  return box;
}
