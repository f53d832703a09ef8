// Buttons that ask the server for a figure's SVG, and save it as it is or drawn to a PNG of twice the size.
async function drawn(svg) {
  const picture = new Image();
  picture.src = URL.createObjectURL(new Blob([svg], {type: "image/svg+xml"}));
  await picture.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * picture.width, 2 * picture.height];
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(picture.src);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

async function save({kind, svg}, name) {
  const blob = kind == "png" ? await drawn(svg) : new Blob([svg], {type: "image/svg+xml"});
  const link = Object.assign(document.createElement("a"), {href: URL.createObjectURL(blob), download: `${name}.${kind}`});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export function render({model}) {
  const failed = () => window.alert("This browser could not make the picture, perhaps for lack of memory. Nothing was saved.");
  model.on("msg:custom", (event) => save(event.data ?? event, model.name_of_file).catch(failed));
  const row = Object.assign(document.createElement("div"), {className: "saves", textContent: "Save as "});
  let times = 0;
  for (const kind of ["png", "svg"]) {
    const button = Object.assign(document.createElement("button"), {type: "button", textContent: kind.toUpperCase()});
    button.setAttribute("aria-label", `Save ${model.title} as ${kind.toUpperCase()}`);
    button.addEventListener("click", () => { model.asked = `${kind} ${++times}`; });
    row.append(button);
  }
  return row;
}
