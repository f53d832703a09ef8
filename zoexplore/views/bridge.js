// What only the browser can do: its address and history, what it remembers, and turning a picture into a file.
const KEPT = "zoexplore-scheme";
const BURST = 700; // ms: commits that follow each other faster, as of a key that is held, are one step of history

function kept() {
  try { return localStorage.getItem(KEPT) ?? ""; } catch { return ""; }
}

function follow(model) {
  let last = -Infinity;
  model.on("search", () => {
    if (model.search === location.search) return;
    const url = location.pathname + model.search + location.hash;
    const now = performance.now();
    history[now - last < BURST ? "replaceState" : "pushState"]({}, "", url);
    last = now;
  });
  window.addEventListener("popstate", () => {
    last = -Infinity;
    model.search = location.search;
    model.visits += 1;
  });
}

async function save(svg, name) {
  const picture = new Image();
  picture.src = URL.createObjectURL(new Blob([svg], {type: "image/svg+xml"}));
  await picture.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * picture.width, 2 * picture.height];
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(picture.src);
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  const link = Object.assign(document.createElement("a"), {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export function render({model}) {
  follow(model);
  model.on("picture", () => { if (model.picture) save(...model.picture); });
  model.scheme = kept();
  model.ready = true;
  return document.createElement("span");
}
