// A chart as a part of the page: it draws what the server gives, asks it for what the reader wants, and tells the table beside it.
export function render({model}) {
  const box = Object.assign(document.createElement("div"), {className: "chart"});
  const tell = (kind, detail) => window.dispatchEvent(new CustomEvent(`zoexplore-${kind}`, {detail: {of: model.of, ...detail}}));
  let last = null, coming = null;
  const asks = (x, held) => { model.asked = [last = x ?? last, held, Date.now()]; };
  const chart = new Chart(box, asks, (words, values) => tell("reads", {words, values: values && Object.fromEntries(Object.entries(values).map(([key, value]) => [key, model.given.across.percent ? `${up(100 * value)}\u202f%` : up(value)]))}));
  const rows = () => {
    const {given} = chart, lines = chart.shown.filter(({x}) => x.length === chart.shown[0].x.length), x = given.values ?? lines[0].x;
    return [[given.across.symbol, ...lines.map(({name, key}) => name || key)], ...Array.from(x, (at, i) => [at, ...lines.map(({y}) => y[i])])];
  };
  const code = model.offers && (() => new Promise((done) => { coming = done; model.wants += 1; }));
  exporting(box, {name: model.view, svg: () => chart.svg, says: () => [chart.given.said, model.run], rows, code});
  const set = () => chart.set({...model.given, lines: model.lines, muted: model.muted});
  let due = false;
  const later = () => {
    if (due) return;
    due = true;
    queueMicrotask(() => { due = false; set(); });
  };
  for (const name of ["given", "lines", "muted"]) model.on(name, later);
  const begin = () => { chart.draws = model.draws_on && ((points) => { model.drew = points; }); };
  model.on("draws_on", begin);
  begin();
  model.on("code", () => coming?.(model.code));
  window.addEventListener("zoexplore-plays", ({detail}) => { if (detail.of === model.of) chart.play(detail.at); });
  if (model.given.across) set();
  return box;
}
