// What only the browser can do: its address and history, and what it remembers.
const KEPT = "zoexplore-scheme", MET = "zoexplore-met";
const BURST = 700; // ms: commits that follow each other faster, as of a key that is held, are one step of history, unless a click lies between

function scheme() {
  const preferred = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  try { return localStorage.getItem(KEPT) ?? preferred; } catch { return preferred; }
}

// While the server has not heard of the last step back or forth, what it writes is of a run that the reader has left.
function follow(model) {
  let last = -Infinity;
  window.addEventListener("click", () => { last = -Infinity; }, true);
  model.on("search", () => {
    if (model.heard < model.visits || model.search === location.search) return;
    const url = location.pathname + model.search + location.hash;
    const now = performance.now();
    history[now - last < BURST ? "replaceState" : "pushState"]({}, "", url);
    last = now;
  });
  window.addEventListener("popstate", () => {
    last = -Infinity;
    model.went = location.search;
    model.visits += 1;
  });
}

export function render({model}) {
  follow(model);
  try { model.met = localStorage.getItem(MET) === "1"; } catch {}
  model.on("met", () => { try { localStorage.setItem(MET, "1"); } catch {} });
  model.scheme = scheme();
  model.ready = true;
  return document.createElement("span");
}
