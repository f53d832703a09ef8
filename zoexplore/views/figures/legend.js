// A legend whose entries are buttons: pressed ones are drawn. Entries stay the same elements, so that the focus does.
const SVG = "http://www.w3.org/2000/svg";

function swatch({light, dark, dash, width}) {
  const picture = document.createElementNS(SVG, "svg");
  const line = document.createElementNS(SVG, "line");
  for (const [name, value] of Object.entries({class: "swatch", width: 26, height: 10, "aria-hidden": true})) picture.setAttribute(name, value);
  for (const [name, value] of Object.entries({x1: 1, x2: 25, y1: 5, y2: 5, "stroke-width": width, "stroke-dasharray": dash.join(" ")})) line.setAttribute(name, value);
  line.style.stroke = `light-dark(${light},${dark})`;
  picture.append(line);
  return picture;
}

// What says the same already is left as it is: writing it again would cost the browser a layout, with every redraw.
function tell(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

export function render({model}) {
  const list = document.createElement("ul");
  const items = new Map();
  const added = (entry) => {
    const item = document.createElement("li"), button = document.createElement("button");
    const title = document.createElement("span"), why = document.createElement("span");
    button.type = "button";
    why.className = "why";
    button.append(swatch(entry), title);
    item.append(button, why);
    button.addEventListener("click", () => {
      const muted = model.muted.filter((key) => key !== entry.key);
      model.muted = muted.length < model.muted.length ? muted : [...muted, entry.key];
    });
    list.append(item);
    items.set(entry.key, {item, button, title, why});
    return items.get(entry.key);
  };
  const draw = () => {
    for (const entry of model.entries) {
      const {item, button, title, why} = items.get(entry.key) ?? added(entry);
      tell(title, entry.title);
      tell(why, entry.why);
      if (why.title !== entry.why) why.title = entry.why;
      item.classList.toggle("absent", entry.absent);
      button.setAttribute("aria-pressed", !model.muted.includes(entry.key));
    }
  };
  draw();
  model.on("entries", draw);
  model.on("muted", draw);
  return list;
}
