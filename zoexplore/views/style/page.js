// What Bokeh leaves out for screen readers: names for slider handles, boxes, bars and the radio group, values in words.
// Sliders and groups carry their name as their model's first tag.
function* views(view) {
  yield view;
  for (const child of view.children_views?.() ?? view.child_views ?? []) yield* views(child);
}
const PLAYS = {first: "to the first step", previous: "one step back", pause: "pause", play: "play", next: "one step on", last: "to the last step"};
function name(view) {
  const label = view.model.tags?.[0];
  const within = (selector) => view.shadow_el?.querySelector(selector);
  const handle = within(".noUi-handle");
  if (handle && typeof label == "string") {
    const tell = () => {
      const text = view.model.format?.doFormat?.([view.model.value], {loc: 0})?.[0];
      if (text != null && handle.getAttribute("aria-valuetext") !== text) handle.setAttribute("aria-valuetext", text);
    };
    handle.setAttribute("aria-label", label);
    new MutationObserver(tell).observe(handle, {attributes: true, attributeFilter: ["aria-valuenow", "aria-valuetext"]});
    tell();
  }
  for (const [kind, does] of Object.entries(PLAYS)) within(`button.${kind}`)?.setAttribute("aria-label", does);
  within("input[type=range]")?.setAttribute("aria-label", view.model.title ?? label);
  const box = within("input[type=checkbox]");
  if (box) box.setAttribute("aria-label", view.model.label ?? label);
  const file = within("input[type=file]");
  if (file) {
    file.setAttribute("aria-label", label);
    // Too long a message would end the session, so what is too large never leaves the browser.
    view.shadow_el.addEventListener("change", (event) => {
      if (!(file.files[0]?.size > view.model.tags[1])) return;
      event.stopImmediatePropagation();
      file.value = "";
      window.alert(`This file is longer than ${view.model.tags[1]} characters. Nothing was read.`);
    }, true);
  }
  within("progress")?.setAttribute("aria-label", label);
  const select = within("select");
  if (select && typeof label == "string") select.setAttribute("aria-label", label);
  const group = within("input[type=radio]")?.closest(".bk-input-group");
  if (group && typeof label == "string") {
    group.setAttribute("role", "radiogroup");
    group.setAttribute("aria-label", label);
  }
}
// The colour scheme that a reader has chosen is remembered; the browser's preference, which is followed else, is not.
const KEPT = "zoexplore-scheme";
try {
  const kept = localStorage.getItem(KEPT);
  if (kept) document.documentElement.style.setProperty("--zx-scheme", kept);
} catch {}
function remember(view) {
  if (!view.model.css_classes?.includes("zx-scheme")) return;
  const keep = () => { try { localStorage.setItem(KEPT, view.model.active ? "dark" : "light"); } catch {} };
  view.el.addEventListener("click", () => setTimeout(keep)); // the button itself is drawn anew with every label
}
const named = new WeakSet(); // tabs bring views of their own when they are first shown
function nameAll(all) {
  for (const view of all) {
    if (named.has(view) || !view.shadow_el || !view.has_finished?.()) continue;
    named.add(view);
    if (view.model.css_classes?.includes?.("zx-room")) view.el.setAttribute("role", "main");
    name(view);
    remember(view);
  }
}
// On a phone the sliders are below the figure, which stays at the top of the screen while they are used, where it leaves them room.
function keepFigure(all) {
  let answer = null, figure = null;
  for (const view of all) {
    if (view.model.css_classes?.includes?.("zx-answer")) answer = view.el;
    if (view.model.type == "Figure" && view.el.offsetParent && !figure) figure = view.el;
  }
  if (!answer) return;
  const below = figure ? answer.getBoundingClientRect().bottom - figure.getBoundingClientRect().top : Infinity;
  if (innerWidth < 820 && below < 0.7 * innerHeight) {
    answer.style.setProperty("--kept", Math.round(answer.offsetHeight - below));
    answer.dataset.kept = "";
  } else delete answer.dataset.kept;
  // What takes the focus is scrolled to where the figure does not cover it.
  document.documentElement.style.scrollPaddingTop = "kept" in answer.dataset ? `${Math.round(below)}px` : "";
}
// Those who do not see a veil or a bar are told that something is computed, if it takes longer than a word, and when it is done.
const COMPUTED = ["zx-waiting", "zx-veiled", "zx-busy"];
const told = Object.assign(document.createElement("div"), {className: "zx-told"});
told.setAttribute("role", "status");
let looks = 0; // in a row at which something was computed
function tellWhatIsComputed(all) {
  let some = false;
  for (const view of all) {
    if (!view.el) continue;
    const state = view.el.style?.getPropertyValue("--zx-state");
    const busy = COMPUTED.some((name) => name == state || view.model.css_classes?.includes?.(name));
    if (busy != (view.el.ariaBusy == "true")) view.el.ariaBusy = busy ? "true" : null;
    some ||= busy && view.el.offsetParent != null;
  }
  looks = some ? looks + 1 : 0;
  if (looks == 2) told.textContent = "Computing …";
  if (!some && told.textContent) told.textContent = "No longer computing.";
}
// While a slider is held nothing comes that has no name yet, and measuring the page would lay it out between two redraws.
let held = false;
for (const kind of ["pointerdown", "pointerup", "pointercancel"]) window.addEventListener(kind, (event) => { held = event.buttons > 0; }, true);
// A page is looked at for as long as something may be on its way: for a while after a change, of the server or the reader. A page that
// rests costs nothing.
const LOOKS = 25;
let left = LOOKS;
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
  const all = [...window.Bokeh.index.roots].flatMap((root) => [...views(root)]);
  for (const act of held ? [tellWhatIsComputed] : [nameAll, keepFigure, tellWhatIsComputed]) act(all);
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
  document.body.append(told);
  setInterval(look, 200);
});
