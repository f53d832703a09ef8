// A reader's choice of colour scheme is stored; the browser's preference, which applies until then, is not.
const KEPT = "zoexplore-scheme";
try {
  const kept = localStorage.getItem(KEPT);
  if (kept) document.documentElement.style.setProperty("--zx-scheme", kept);
} catch {}
function adopt(view) {
  if (view.model.css_classes?.includes?.("zx-room")) view.el.setAttribute("role", "main");
  if (!view.model.css_classes?.includes?.("zx-scheme")) return;
  const keep = () => { try { localStorage.setItem(KEPT, view.model.active ? "dark" : "light"); } catch {} };
  view.el.addEventListener("click", () => setTimeout(keep)); // the button itself is drawn anew with every label
}
const nameNew = (all) => nameAll(all, adopt);
// On a phone the sliders stand below the answer. As they come into sight its figure takes the top of the screen, and the rest of it
// ends where they begin.
let parts = {};
function findFigure(all) {
  parts = {};
  for (const view of all) {
    for (const part of ["answer", "controls"]) if (view.model.css_classes?.includes?.(`zx-${part}`)) parts[part] = view.el;
    if (["zx-chart", "zx-frontier"].some((name) => view.model.css_classes?.includes?.(name)) && view.el.offsetParent) parts.figure ??= view.el;
  }
  keepFigure();
}
function keepFigure() {
  const {answer, controls, figure} = parts;
  if (!answer) return;
  const box = (element) => element?.getBoundingClientRect();
  const from = controls?.offsetParent ? box(controls).top : Infinity, tall = figure?.offsetHeight, above = box(figure)?.top - box(answer).top;
  const scrolled = from - answer.offsetHeight + above < 0; // the figure, where it stands in the answer
  const kept = innerWidth < 820 && scrolled && from < 0.6 * innerHeight && tall < 0.55 * innerHeight;
  if (kept != "kept" in answer.dataset) kept ? answer.dataset.kept = "" : delete answer.dataset.kept;
  if (kept) {
    answer.style.setProperty("--kept", Math.round(above));
    answer.style.setProperty("--cut", Math.max(Math.round(answer.offsetHeight - above - Math.max(from, tall)), 0));
  }
  // What takes the focus is scrolled to where the figure does not cover it.
  const room = kept ? `${Math.round(tall)}px` : "", {style} = document.documentElement;
  if (style.scrollPaddingTop != room) style.scrollPaddingTop = room;
}
window.addEventListener("scroll", () => requestAnimationFrame(keepFigure), {passive: true});
// A screen reader announces a computation that lasts, and its end.
const COMPUTED = ["zx-waiting", "zx-veiled"];
const announced = Object.assign(document.createElement("div"), {className: "zx-status"});
announced.setAttribute("role", "status");
let looks = 0; // in a row at which something was computed
function tellWhatIsComputed(all) {
  let some = false;
  for (const view of all) {
    if (!view.el) continue;
    const state = view.el.style?.getPropertyValue("--zx-state");
    const busy = COMPUTED.includes(state);
    if (busy != (view.el.ariaBusy == "true")) view.el.ariaBusy = busy ? "true" : null;
    some ||= busy && view.el.offsetParent != null;
  }
  looks = some ? looks + 1 : 0;
  if (looks == 2) announced.textContent = "Computing …";
  if (!some && announced.textContent) announced.textContent = "No longer computing.";
}
// A button that does nothing now keeps the focus, which one that is disabled would lose.
function tellWhatIsSpent(all) {
  for (const {model, shadow_el} of all) {
    const button = model.css_classes?.includes?.("zx-button") && shadow_el?.querySelector("button");
    if (!button) continue;
    button.ariaDisabled = model.css_classes.includes("zx-spent") ? "true" : null;
    if (model.css_classes.includes("zx-scheme")) button.ariaLabel = model.tags[0]; // its label is a sign
  }
}
// While a slider is held nothing comes that has no name yet, and measuring the page would lay it out between two redraws.
let held = false;
for (const kind of ["pointerdown", "pointerup", "pointercancel"]) window.addEventListener(kind, (event) => { held = event.buttons > 0; }, true);
// A page is looked at for as long as something may be on its way: for a while after a change, of the server or the reader. A page that
// rests costs nothing.
const LOOKS = 25;
let left = LOOKS;
// The still picture goes in the frame after the live page has been drawn under it, in the reader's colours.
let veiled = 0;
function unveil(all) {
  const still = document.querySelector(".zx-first");
  const scheme = all.find((view) => view.model.css_classes?.includes?.("zx-scheme"))?.model;
  const kept = document.documentElement.style.getPropertyValue("--zx-scheme");
  const dark = kept ? kept == "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  veiled += 1;
  if (still && (!scheme || scheme.active == dark || veiled > LOOKS / 2)) requestAnimationFrame(() => requestAnimationFrame(() => still.remove()));
}
const wake = () => { left = LOOKS; };
for (const kind of ["click", "keyup", "resize"]) window.addEventListener(kind, wake, true);
const watched = new WeakSet();
function look() {
  const doc = window.Bokeh?.documents?.[0];
  if (!doc?.is_idle) return;
  if (!watched.has(doc)) {
    watched.add(doc);
    doc.on_change(wake);
  }
  if (!left) return;
  left -= 1;
  const all = everything();
  for (const act of held ? [tellWhatIsComputed] : [unveil, nameNew, findFigure, tellWhatIsSpent, tellWhatIsComputed]) act(all);
}
// What Export opens lies over the page: Escape closes it, and so does a press anywhere else.
function closeExport(event) {
  const inside = event.composedPath().some((node) => /zx-(files|header)/.test(node.className ?? ""));
  if (event.type == "keydown" ? event.key != "Escape" : inside) return;
  const open = [...(window.Bokeh?.documents?.[0]?.all_models ?? [])].find((model) => model.label == "Export" && model.active);
  if (open) open.active = false;
}
for (const kind of ["keydown", "pointerdown"]) window.addEventListener(kind, closeExport, true);
window.addEventListener("load", () => {
  document.body.append(announced);
  setInterval(look, 200);
});
