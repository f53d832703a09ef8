// Published runs, a row each: hollow where epsilon is claimed, filled where it can be proved. A row loads its run.
export function render({model}) {
  const box = Object.assign(document.createElement("div"), {className: "claims"}), {rows, ticks, near} = model;
  const [least, most] = [ticks[0], ticks.at(-1)], at = (x) => `${100 * Math.log(x / least) / Math.log(most / least)}%`;
  const grid = `<span class="grid" aria-hidden="true">${ticks.map((x) => `<i style="left:${at(x)}"></i>`).join("")}</span>`;
  const sr = (words) => `<span class="sr">${words} </span>`; // for ears only
  const row = (each, first) => {
    const ratio = each.ours / each.claimed, agrees = ratio < near, why = agrees ? "Agrees: random batches, one record more or less." : "Shuffled batches, accounted as random ones.";
    const said = agrees && ratio * near > 1 ? `${each.claims}, as claimed` : `${each.claims}, provable ${each.proves}`;
    const made = Object.assign(document.createElement("a"), {href: each.href, className: agrees ? "row" : "row apart"});
    const dots = `<b class="claimed" style="left:${at(each.claimed)}"></b><b class="proved" style="left:${at(each.ours)}"></b>`;
    const bar = agrees ? "" : `<u style="left:${at(each.claimed)};right:calc(100% - ${at(each.ours)})"></u>`;
    const words = agrees ? `<em style="left:${at(Math.max(each.claimed, each.ours))}">${sr("claimed")}${said}</em>`
      : `<em class="before" style="left:${at(each.claimed)}">${sr("claimed")}${each.claims}</em><em style="left:${at(each.ours)}">${sr("provable")}${each.proves}</em>`;
    const key = first ? `<small aria-hidden="true" style="left:${at(each.claimed)}">claimed</small><small aria-hidden="true" style="left:${at(each.ours)}">provable</small>` : "";
    made.innerHTML = `${sr("Load")}<span class="run"><strong></strong><span></span></span><span class="line">${grid}${bar}${dots}${words}${key}</span><span class="why"><b>${agrees ? "" : `×\u202f${each.factor}`}</b> ${why}</span>`;
    made.querySelector("strong").textContent = each.name;
    made.querySelector(".run span").textContent = each.what;
    made.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // a page of its own
      event.preventDefault();
      model.asked = [each.key, Date.now()];
    });
    return made;
  };
  const foot = document.createElement("div");
  foot.className = "row foot";
  foot.innerHTML = `<span></span><span class="line" aria-hidden="true">${ticks.map((x) => `<em style="left:${at(x)}">${x}</em>`).join("")}<small>ε, at the δ of each claim</small></span><span></span>`;
  box.append(...rows.map((each, i) => row(each, i === 0)), foot);
  exporting(box, {name: "claims", rows: () => [["run", "claimed", "provable"], ...rows.map((each) => [`${each.name}, ${each.what}`, each.claimed, each.ours])]});
  return box;
}
