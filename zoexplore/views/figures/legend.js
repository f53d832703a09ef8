// The table of what is drawn: its buttons show and hide curves. Rows stay the same elements, so that the focus does.
const SVG = "http://www.w3.org/2000/svg";

function swatch({light, dark, dash, width}) {
  const picture = document.createElementNS(SVG, "svg"), line = document.createElementNS(SVG, "line");
  for (const [name, value] of Object.entries({class: "swatch", width: 34, height: 10, "aria-hidden": true})) picture.setAttribute(name, value);
  for (const [name, value] of Object.entries({x1: 1, x2: 33, y1: 5, y2: 5, "stroke-width": width, "stroke-dasharray": dash.join(" ")})) line.setAttribute(name, value);
  line.style.stroke = `light-dark(${light},${dark})`;
  picture.append(line);
  return picture;
}
// What says the same already is left as it is: writing it again would cost the browser a layout, with every redraw.
function tell(element, words) {
  if (element.textContent !== words) element.textContent = words;
}
function row(model, entry) {
  const made = document.createElement("tr");
  made.innerHTML = '<td><button type="button"></button></td><th scope="row"><span></span><div><small></small><small></small></div></th><td class="number"><span></span></td>';
  const button = made.querySelector("button");
  button.append(swatch(entry));
  button.addEventListener("click", () => {
    const muted = model.muted.filter((key) => key !== entry.key);
    model.muted = muted.length < model.muted.length ? muted : [...muted, entry.key];
  });
  if (entry.pin != null) {
    const act = (verb, label, text) => {
      const made = Object.assign(document.createElement("button"), {type: "button", className: "act", textContent: text, title: label});
      made.setAttribute("aria-label", label);
      made.addEventListener("click", () => { model.asked = [verb, entry.pin, Date.now()]; });
      return made;
    };
    made.querySelector("th span").after(act("use", `Use ${entry.title}`, "use"));
    made.querySelector(".number").append(act("remove", `Unpin ${entry.title}`, "×"));
  }
  return made;
}

export function render({model}) {
  const table = document.createElement("table"), rows = new Map();
  table.innerHTML = '<thead><tr><th scope="col" colspan="2"></th><th scope="col"></th></tr></thead><tbody></tbody>';
  const body = table.querySelector("tbody"), [what, number] = table.querySelectorAll("thead th");
  const heading = (words) => Object.assign(document.createElement("tr"), {className: "group", innerHTML: `<th colspan="3" scope="colgroup">${words}</th>`});
  const draw = () => {
    tell(what, model.title);
    tell(number, model.symbol);
    const keys = model.entries.map(({key, dash, light, pin, title}) => `${key} ${dash} ${light} ${pin != null ? title : ""}`).join();
    if (body.dataset.keys !== keys) {
      body.dataset.keys = keys;
      rows.clear();
      body.replaceChildren();
      let last = "";
      for (const entry of model.entries) {
        if (entry.group !== last) body.append(heading(last = entry.group));
        rows.set(entry.key, body.appendChild(row(model, entry)));
      }
    }
    for (const entry of model.entries) {
      const made = rows.get(entry.key), shown = !model.muted.includes(entry.key) && !entry.absent, button = made.querySelector("button");
      tell(made.querySelector("th span"), entry.title);
      const [says, why] = made.querySelectorAll("small");
      tell(says, model.symbol && !entry.absent ? entry.says ?? "" : ""); // where no other table needs the room
      made.title = entry.tip ?? "";
      tell(why, model.symbol ? entry.why : "");
      tell(made.querySelector(".number span"), entry.number);
      made.className = `${entry.absent ? "absent" : ""} ${shown ? "" : "off"} ${entry.best ? "best" : ""}`;
      button.disabled = entry.absent || entry.pin != null;
      button.setAttribute("role", "switch");
      button.setAttribute("aria-checked", shown);
      button.setAttribute("aria-label", `${entry.title}: draw its curve`);
    }
  };
  // While something is read in the chart: the numbers there, in the same places.
  window.addEventListener("zoexplore-reads", ({detail: {of, words, values}}) => {
    if (of !== model.of) return;
    if (!words) return draw();
    tell(what, `At ${words}`);
    for (const [key, made] of rows) if (key in values) tell(made.querySelector(".number span"), values[key]);
  });
  draw();
  for (const name of ["entries", "muted", "title", "symbol"]) model.on(name, draw);
  return table;
}
