// A round button at a figure, and its menu: the figure as a picture or as vectors, what it draws as numbers, and code that draws it.
const KEPT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "paint-order", "cx", "cy", "r"];
const KINDS = {PNG: "picture, twice the size", SVG: "for a paper, text as text", CSV: "the drawn numbers", Python: "code that draws it"};

// An SVG that stands alone, in light colours, with lines of text at its foot.
function standalone(svg, foot) {
  const {clientWidth: W, clientHeight: H} = svg, scheme = svg.style.colorScheme, copy = svg.cloneNode(true), tall = H + 16 * foot.length + 10;
  svg.style.colorScheme = "light";
  const made = [...copy.querySelectorAll("*")];
  [...svg.querySelectorAll("*")].forEach((each, i) => {
    const style = getComputedStyle(each);
    for (const name of KEPT) if (style.getPropertyValue(name)) made[i].setAttribute(name, style.getPropertyValue(name));
    if (style.visibility === "hidden") made[i].setAttribute("visibility", "hidden");
    for (const name of ["class", "style", "data-key", "data-at"]) made[i].removeAttribute(name);
  });
  svg.style.colorScheme = scheme;
  const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const words = foot.map((text, i) => `<text x="4" y="${H + 16 * (i + 1)}" font-family="sans-serif" font-size="11" fill="#5b636b">${escaped(text)}</text>`).join("");
  return {W, tall, text: `<svg xmlns="http://www.w3.org/2000/svg" width="${W}" height="${tall}" viewBox="0 0 ${W} ${tall}"><rect width="${W}" height="${tall}" fill="#ffffff"/>${copy.innerHTML}${words}</svg>`};
}
async function pixels({W, tall, text}) {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([text], {type: "image/svg+xml"}));
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), {width: 2 * W, height: 2 * tall});
  canvas.getContext("2d").drawImage(image, 0, 0, 2 * W, 2 * tall);
  URL.revokeObjectURL(image.src);
  return new Promise((done) => canvas.toBlob(done));
}
function save(blob, file) {
  const link = Object.assign(document.createElement("a"), {href: URL.createObjectURL(blob), download: file});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
// A file is named by its view and by what its address says besides.
function fileOf(view, kind) {
  const said = [...new URLSearchParams(location.search)].filter(([name]) => !["tab", "sensitivity", "pin", "say"].includes(name)).flat();
  return `${[view, ...said].join("-").replace(/[^\w.+-]+/g, "-").slice(0, 60)}.${kind === "Python" ? "py" : kind.toLowerCase()}`;
}
// A table as CSV, its columns' names first, below remarks.
function csvOf(remarks, rows) {
  const quoted = (cell) => /[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
  return [...remarks.map((line) => `# ${line}`), ...rows.map((row) => row.map((cell) => quoted(String(cell ?? ""))).join(",")), ""].join("\n");
}
// `given.svg()` is the drawing, `given.rows()` its numbers below their names, `given.code()` a promise of code; what is missing is not
// offered. `given.says()` is written into drawings and tables, with the page's address.
function exporting(box, given) {
  const kinds = Object.keys(KINDS).filter((kind) => given[{PNG: "svg", SVG: "svg", CSV: "rows", Python: "code"}[kind]]);
  const foot = () => [...given.says?.() ?? [], location.href];
  const part = document.createElement("div");
  part.className = "export";
  part.innerHTML = `<button type="button" class="save" aria-label="Save this figure" title="Save this figure" aria-haspopup="menu" aria-expanded="false">
    <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d="M8 2v8M4.5 7 8 10.5 11.5 7M3 13.5h10" fill="none" stroke="currentColor" stroke-width="1.6"/></svg></button>
    <div role="menu" aria-label="Save this figure as" hidden>${kinds.map((kind) => `<button type="button" role="menuitem" data-kind="${kind}"><b>${kind}</b> ${KINDS[kind]}</button>`).join("")}</div><p class="sr" role="status"></p>`;
  const [button, menu, said] = [".save", "[role=menu]", ".sr"].map((each) => part.querySelector(each)), items = [...menu.children];
  const open = (on) => {
    menu.hidden = !on;
    button.setAttribute("aria-expanded", on);
    (on ? items[0] : button).focus();
  };
  button.onclick = () => open(menu.hidden);
  document.addEventListener("pointerdown", (event) => { if (!menu.hidden && !event.composedPath().includes(part)) { menu.hidden = true; button.setAttribute("aria-expanded", false); } }, true);
  part.addEventListener("keydown", (event) => {
    const at = items.indexOf(event.target), by = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (event.key === "Escape" && !menu.hidden) open(false);
    if (!by || at < 0) return;
    event.preventDefault();
    items[(at + by + items.length) % items.length].focus();
  });
  const make = {
    SVG: () => new Blob([standalone(given.svg(), foot()).text], {type: "image/svg+xml"}),
    PNG: () => pixels(standalone(given.svg(), foot())),
    CSV: () => new Blob([csvOf(foot(), given.rows())], {type: "text/csv"}),
    Python: async () => new Blob([await given.code()], {type: "text/x-python"}),
  };
  menu.addEventListener("click", async (event) => {
    const kind = event.target.closest("[data-kind]")?.dataset.kind;
    if (!kind) return;
    open(false);
    save(await make[kind](), fileOf(given.name, kind));
    said.textContent = `${kind} saved`;
  });
  box.append(part);
}
