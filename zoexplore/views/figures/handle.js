// A handle on a figure's dotted line: drag it, or move it by the arrow keys.
export function render({model, view}) {
  const strip = document.createElement("div"), pill = document.createElement("div");
  strip.className = "strip";
  pill.className = "pill";
  pill.tabIndex = 0;
  pill.setAttribute("role", "slider");
  pill.style.display = "none"; // until it has a place
  strip.append(pill);
  let frame = null, held = false;
  const figure = () => [...view.model.document.all_models].find((each) => each.name === model.drawn);
  const place = () => {
    if (!frame?.bbox.width) return;
    const {bbox, x_scale} = frame, x = x_scale.compute(model.at), shown = Number.isFinite(x);
    pill.style.display = shown ? "" : "none";
    if (pill.textContent !== model.label) pill.textContent = model.label;
    // It covers no label of the y axis.
    pill.style.left = `${Math.min(Math.max(x, bbox.left + pill.offsetWidth / 2 - 8), bbox.right)}px`;
    pill.setAttribute("aria-label", model.title);
    pill.setAttribute("aria-valuetext", model.label);
    pill.setAttribute("aria-valuenow", model.at);
    pill.setAttribute("aria-valuemin", x_scale.invert(bbox.left));
    pill.setAttribute("aria-valuemax", x_scale.invert(bbox.right));
  };
  const drag = (event) => {
    const {bbox, x_scale} = frame, left = strip.getBoundingClientRect().left;
    model.asked = x_scale.invert(Math.min(Math.max(event.clientX - left, bbox.left), bbox.right));
  };
  pill.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    pill.focus();
    pill.setPointerCapture(event.pointerId);
    held = model.held = true;
  });
  pill.addEventListener("pointermove", (event) => { if (held) drag(event); });
  for (const kind of ["pointerup", "pointercancel"]) pill.addEventListener(kind, () => { held = model.held = false; });
  pill.addEventListener("keydown", (event) => {
    const by = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5}[event.key];
    if (!by) return;
    event.preventDefault();
    const {bbox, x_scale} = frame, step = by * bbox.width / 100;
    model.asked = x_scale.invert(Math.min(Math.max(x_scale.compute(model.at) + step, bbox.left), bbox.right));
  });
  const later = () => requestAnimationFrame(() => requestAnimationFrame(place));
  const find = () => {
    const fig = figure(), plot = fig && Bokeh.index.find_one(fig);
    if (!plot?.frame) return setTimeout(find, 60);
    frame = plot.frame;
    fig.x_range.change.connect(later);
    for (const side of ["inner_width", "inner_height"]) fig.properties[side].change.connect(later);
    later();
  };
  model.on("at", place);
  model.on("label", place);
  new ResizeObserver(later).observe(strip);
  find();
  return strip;
}
