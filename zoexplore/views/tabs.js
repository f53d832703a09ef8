// A row of tabs, or of parts of one: one stop of the tab key, arrow keys to move.
export function render({model}) {
  const list = document.createElement("div");
  list.setAttribute("role", "tablist");
  const draw = () => {
    list.setAttribute("aria-label", model.label);
    while (list.children.length > model.titles.length) list.lastChild.remove();
    model.titles.forEach(([name, title], place) => {
      const tab = list.children[place] ?? list.appendChild(Object.assign(document.createElement("button"), {type: "button"}));
      const on = name === model.selected;
      if (tab.textContent !== title) tab.textContent = title;
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-selected", on);
      tab.tabIndex = on ? 0 : -1;
      // At the press: between it and the release a page that is still being laid out may put another element in its place.
      tab.onpointerdown = (event) => { if (event.pointerType === "mouse" && event.button === 0) model.selected = name; };
      tab.onclick = () => { model.selected = name; };
      tab.onkeydown = (event) => {
        const by = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
        if (!by) return;
        event.preventDefault();
        const [to] = model.titles[(place + by + model.titles.length) % model.titles.length];
        model.selected = to;
        list.querySelector("[aria-selected=true]").focus();
      };
    });
  };
  // The selected one stays in sight where not all have room.
  const show = () => requestAnimationFrame(() => {
    const on = list.querySelector("[aria-selected=true]");
    if (on) list.scrollLeft = on.offsetLeft + on.offsetWidth / 2 - list.offsetLeft - list.clientWidth / 2;
  });
  for (const of of ["titles", "selected"]) model.on(of, () => { draw(); show(); });
  model.on("after_render", show);
  draw();
  return list;
}
