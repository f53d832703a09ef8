// What Bokeh leaves out for screen readers: names for slider handles, boxes, bars, radio groups and figures, values in words.
// Sliders and groups carry their name as their model's first tag; a figure else by its title, or what its axes show.
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
    let text = "";
    const tell = () => {
      const [, rung, value] = view.model.tags;
      if (view.model.value === rung) text = value; // else it follows, with the answer
      if (handle.getAttribute("aria-valuetext") !== text) handle.setAttribute("aria-valuetext", text);
    };
    handle.setAttribute("aria-label", label);
    new MutationObserver(tell).observe(handle, {attributes: true, attributeFilter: ["aria-valuenow", "aria-valuetext"]});
    view.connect(view.model.properties.tags.change, tell);
    tell();
  }
  for (const [kind, does] of Object.entries(PLAYS)) within(`button.${kind}`)?.setAttribute("aria-label", does);
  within("input[type=range]")?.setAttribute("aria-label", view.model.title ?? label);
  const box = within("input[type=checkbox]");
  if (box) box.setAttribute("aria-label", view.model.label ?? label);
  within("progress")?.setAttribute("aria-label", label);
  const select = within("select");
  if (select && typeof label == "string") select.setAttribute("aria-label", label);
  const group = within("input[type=radio]")?.closest(".bk-input-group");
  if (group && typeof label == "string") {
    group.setAttribute("role", "radiogroup");
    group.setAttribute("aria-label", label);
  }
}
function describe({model, canvas_view}) {
  const axis = (axes) => axes[0]?.axis_label;
  const says = model.tags[0] || model.title?.text || [axis(model.left), axis(model.below)].filter(Boolean).join(" against ");
  const canvas = canvas_view?.el;
  if (!canvas || canvas.getAttribute("aria-label") === says) return;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", says);
}
const named = new WeakSet(); // tabs bring views of their own when they are first shown
function nameAll(all, also) {
  for (const view of all) {
    if (!view.shadow_el || !view.has_finished?.()) continue;
    if (view.model.type == "Figure") describe(view);
    if (named.has(view)) continue;
    named.add(view);
    name(view);
    also?.(view);
  }
}
const everything = () => [...window.Bokeh.index.roots].flatMap((root) => [...views(root)]);
