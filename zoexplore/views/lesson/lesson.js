// A lesson: what the server does for the live page is done here by tables. Places between those that are tabled are never made up: of
// two groups of sliders only one is away from the run, and moving the other returns it. T moves with any of them.
const {up, near, grouped, nice, safe} = PARTS.chart;
const HERE = "http://127.0.0.1:5006/app"; // where `zoexplore serve` is found by who runs it
const VIEWS = {publish: "Two curves", curves: "All bounds", game: "A game"};
const find = (what, root = document) => {
  const here = root.querySelector(what);
  if (here) return here;
  for (const each of root.querySelectorAll("*")) {
    const inner = each.shadowRoot && find(what, each.shadowRoot);
    if (inner) return inner;
  }
  return null;
};
// What the live page's components take for the server's side of them.
function model(values) {
  const heard = {};
  return new Proxy(values, {
    get: (all, name) => name === "on" ? (of, act) => { (heard[of] ??= []).push(act); } : all[name],
    set: (all, name, value) => {
      if (all[name] === value) return true;
      all[name] = value;
      for (const act of heard[name] ?? []) act();
      return true;
    },
  });
}
function mount(name, into, of) {
  const place = find(into);
  if (!place) return of;
  place.shadowRoot.append(PARTS[name].render({model: of}));
  of.after_render = true;
  return of;
}
// What says the same already is left as it is, so that nothing is laid out again.
function tell(place, text) {
  if (place && place.told !== text) place.innerHTML = place.told = text;
}
function html(host, text) {
  if (host) tell(host.into ??= host.shadowRoot.appendChild(document.createElement("div")), text);
}
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  return JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text());
}

// A table's numbers by place, bound and step: codes are places on a ladder of all numbers with four digits.
function tabled({low, epsilons}, row, first) {
  const value = (code) => code < first ? (code ? 0 : Infinity) : Number(`${1000 + (code - first) % 9000}e${low + Math.floor((code - first) / 9000)}`);
  const found = new Float64Array(epsilons.length), known = new Map();
  const block = new Int32Array(row.length * row.steps);
  for (let i = 0, at = 0; i < epsilons.length / block.length; i++) for (let b = 0; b < row.length; b++) {
    let along = 0;
    for (let t = 0; t < row.steps; t++, at++) {
      along += epsilons[at];
      const code = block[b * row.steps + t] += along;
      if (!known.has(code)) known.set(code, value(code));
      found[at] = known.get(code);
    }
  }
  return found;
}
function at(x, xs, ys) { // a line's value at a place between two of its own
  let i = 0, j = xs.length - 1;
  while (i < j) { const k = (i + j) >> 1; if (xs[k] >= x) j = k; else i = k + 1; }
  if (j < 1 || xs[j] <= x) return ys[j];
  return ys[j - 1] + (ys[j] - ys[j - 1]) * (x - xs[j - 1]) / (xs[j] - xs[j - 1]);
}

// The page: every part has a style of its own, as on the live page. Its elements are those that the style sheets place.
function lay(given) {
  const {shows, words} = given;
  const part = (classes, sheets, ...inside) => {
    const made = Object.assign(document.createElement("div"), {className: classes}), root = made.attachShadow({mode: "open"});
    root.innerHTML = `<style>${["first_host", ...sheets.split(" ")].map((name) => given.css[name] ?? "").join("\n")}</style>`;
    for (const each of inside) root.append(...typeof each === "string" ? document.createRange().createContextualFragment(each).childNodes : each ? [each] : []);
    return made;
  };
  const radios = Object.entries(words.choices).map(([title, name]) => `<label><input type="radio" name="publish" value="${name}"><span>${title}</span></label>`);
  const choice = `<label class="bk-input-group">ε against <select class="bk-input"></select></label>`;
  const stack = (...parts) => { const made = document.createElement("div"); made.append(...parts); return made; };
  const chart = (name) => part(`zx-chart zx-chart-${name}`, "chart export figure");
  const heading = part("zx-heading", "first_row heading", part("", "title", "<p>zoexplore</p>"), part("zx-tabs", "tabs"), part("zx-tools", "text lesson_live", '<span class="zx-live"></span>'));
  const answer = part("zx-answer", "",
    shows.title && part("", "text question", `<h1>${words.question}</h1>`),
    part("zx-front zx-two", "front", part("zx-switch", "radio switch", `<div class="bk-input-group" role="radiogroup" aria-label="what is published">${radios.join("")}</div>`),
      shows.verdict && part("zx-headline", "text headline"), shows.verdict && part("zx-said", "text said")),
    part("zx-publish", "view", part("", "first_row stage", chart("two"), part("zx-clouds", "clouds"))),
    part("zx-curves", "view", part("", "first_row stage", stack(part("zx-along", "select arrow along", choice), chart("all")), shows.table && stack(part("zx-legend", "legend")))),
    part("zx-game", "view", part("zx-board", "text board_of_game")));
  const foot = `<p>${safe(`${given.run}. ${given.supposes}. Numbers are rounded up.${!given.live ? " Links to a run that is live lead to your own machine, where zoexplore serve must run." : ""}`)}</p>
    <details><summary>Statement of the guarantee, if only the last model is published</summary><pre tabindex="0">${safe(given.statement)}</pre></details><p>zoexplore ${words.version}</p>`;
  const room = part("zx-room", "room", part("zx-explorer", "explorer lesson_layout", part("zx-header", "row", heading),
    given.say && part("zx-prompt", "prompt", part("", "text words story", given.say)),
    part("zx-controls", "", part("zx-settings", "controls lesson_dials"), part("zx-note", "notice")), answer),
    part("zx-colophon", "text colophon foot", foot));
  room.setAttribute("role", "main");
  document.body.prepend(room);
}

function begin(given) {
  lay(given);
  const link = new URLSearchParams(given.link), views = Object.keys(VIEWS).filter((name) => given.shows[name]);
  if (!views.length) views.push("publish");
  const {steps, sliders, bounds, groups} = given, N = bounds.length, S = steps.values.length, T0 = steps.at;
  const tables = given.tables.map((each) => ({...each, found: tabled(each, {length: N, steps: S}, given.first)}));
  const of = Object.fromEntries(sliders.map((each) => [each.field, each]));
  const all = {...of, T: steps}, here = {T: T0, ...Object.fromEntries(sliders.map(({field, at}) => [field, at]))};
  const moved = () => Object.keys(here).filter((field) => here[field] !== all[field].at);
  const groupOf = (field) => groups.find((each) => each.includes(field)) ?? [];
  const active = () => Math.max(groups.findIndex((each) => each.some((field) => here[field] !== of[field].at)), 0);
  const row = (g, at = here) => groups[g].reduce((found, field) => found * of[field].values.length + at[field], 0);
  const along = (g, b, at = here) => tables[g].found.subarray((row(g, at) * N + b) * S, (row(g, at) * N + b + 1) * S);
  const facts = () => here.T === T0 ? tables[active()].facts[row(active())] : active() === 0 ? steps.facts[here.T] : null;
  const says = (field) => `${all[field].symbol} = ${all[field].texts[here[field]]}`;
  // What stands after the # of the address: a view, an axis, what is published, values, and which dials there are.
  const first = {tab: views.includes(link.get("tab")) ? link.get("tab") : views[0], against: link.get("against") in all ? link.get("against") : "T"};
  const asked = new URLSearchParams(location.hash.slice(1)), named = (name, among, otherwise) => among.includes(asked.get(name)) ? asked.get(name) : otherwise;
  let view = named("tab", views, first.tab), shown = named("publish", ["every", "last"], "last");
  let against = named("against", Object.keys(all), first.against), held = false, ends = null, frame = null, told = "", reduced = false;

  const es = given.apart.map(([e]) => Math.log(e)), mus = given.apart.map(([, mu]) => mu);
  const places = Object.fromEntries(["headline", "said", "note", "live"].map((name) => [name, find(`.zx-${name}`)]));

  // ε of the two ways to publish, along T.
  const two = () => {
    const g = active(), every = along(g, bounds.findIndex(({line}) => line.key === "composition"));
    const last = new Float64Array(S).fill(Infinity);
    bounds.forEach(({own}, b) => { if (own) along(g, b).forEach((x, t) => { if (x < last[t]) last[t] = x; }); });
    return {every, last};
  };
  const best = () => bounds.reduce((least, {own}, b) => own && (least < 0 || along(active(), b)[here.T] < along(active(), least)[here.T]) ? b : least, -1);

  const charts = {};
  for (const name of ["two", "all"]) charts[name] = mount("chart", `.zx-chart-${name}`, model({view: name === "two" ? "publish" : "curves", of: name, lines: [], given: {}, muted: [], draws_on: false, offers: false, run: given.run, asked: []}));
  const clouds = mount("clouds", ".zx-clouds", model({of: "two", every: [], last: [], shown, steps: 1}));
  const game = model({every: 0, last: 0, ceilings: [0.5, 0.5], shown, seed: 0, masked: false});
  const legend = model({of: "all", entries: [], muted: given.muted, title: "", symbol: "ε", asked: []});
  const tabs = model({titles: views.map((name) => [name, VIEWS[name]]), selected: view, label: "views"});

  function drawTwo() {
    const {every, last} = two(), T = steps.values, now = T[here.T], values = {every, last};
    if (!ends || !held || now > ends[0] || now < ends[0] / 20) {
      const end = Math.min(nice(2 * now), T.at(-1)), top = [every, last].map((ys) => at(end, T, ys)).find((x) => Number.isFinite(x) && x > 0) ?? 1, step = nice(top / 4);
      ends = [end, step * Math.ceil(top / step - 0.03)];
    }
    const [end, top] = ends, until = T.findIndex((each) => each >= end) + 1 || S, kinds = ["every", "last"];
    const mine = (name) => name === shown;
    charts.two.lines = kinds.map((name) => ({...given.two[name], x: T.slice(0, until), y: values[name].subarray(0, until), bold: mine(name), alpha: mine(name) ? 1 : 0.5, note: `${up(values[name][here.T])} at T`}));
    charts.two.given = {
      title: `ε at δ = ${given.delta}: privacy loss, lower is better`,
      said: `ε at δ = ${given.delta} against training steps: at T = ${grouped(String(now))}: ${kinds.map((name) => `${up(values[name][here.T])} if ${given.two[name].name} is published`).join(", ")}`,
      across: {start: 0, end, log: false, parts: 4.01, title: "T, training steps", symbol: "T"},
      up: {start: 0, end: top, log: false, parts: 4.01},
      handle: {at: now, label: `T = ${grouped(String(now))}`, title: "T, steps"},
      dots: kinds.filter((name) => Number.isFinite(values[name][here.T])).sort((a, b) => mine(a) - mine(b)).map((name) => ({key: name, x: now, y: values[name][here.T], light: given.two[name].light, dark: given.two[name].dark, size: mine(name) ? 6.5 : 4.5})),
    };
    const apart = (ys) => Array.from({length: PARTS.clouds.LAST + 1}, (_, k) => {
      const t = Math.max(k / PARTS.clouds.LAST * now, 1e-9), e = Math.min(at(Math.max(t, 1), T, ys), 1e8);
      return Math.min(t, 1) * (e > 0 ? at(Math.log(e), es, mus) : 0);
    });
    Object.assign(clouds, {steps: now, shown, last: apart(last), every: apart(every)});
  }
  function drawAll() {
    const g = active(), b0 = best(), axis = all[against], index = here[against], T = steps.values[here.T];
    const group = against === "T" ? g : groups.indexOf(groupOf(against));
    const lines = bounds.map(({line}, b) => ({...line, x: axis.places, bold: b === b0, aloud: b === b0 || line.key === "composition",
      y: against === "T" ? along(g, b) : axis.values.map((_, i) => along(group, b, {...here, [against]: i})[here.T])}));
    const now = bounds.map((_, b) => along(g, b)[here.T]), seen = lines.map((_, b) => !legend.muted.includes(bounds[b].line.key));
    const positive = (own) => lines.filter((_, b) => seen[b] && bounds[b].own === own).flatMap(({y}) => Array.from(y).filter((e) => e > 0 && e < Infinity));
    const wanted = decades(positive(true), positive(false), now.filter((e, b) => seen[b] && bounds[b].own && e > 0 && e < Infinity));
    frame = frame && frame.against === against ? steady(wanted, frame) : wanted;
    frame.against = against;
    const fixed = against === "T" ? "" : `, T = ${grouped(String(T))}`;
    charts.all.lines = lines;
    charts.all.muted = legend.muted;
    charts.all.given = {
      title: `ε at δ = ${given.delta}${fixed}`, said: `ε at δ = ${given.delta}${fixed} against ${axis.across.title}`, across: axis.across, values: axis.values,
      up: {start: 10 ** frame[0], end: 10 ** frame[1], log: true},
      handle: {at: axis.places[index], label: `${axis.symbol} = ${axis.texts[index]}`, title: axis.across.title},
      dots: bounds.map(({line}, b) => ({key: line.key, x: axis.places[index], y: now[b], light: line.light, dark: line.dark})).filter(({y}, b) => seen[b] && y > 0 && y < Infinity),
    };
    const why = facts()?.why ?? bounds.map((_, b) => now[b] < Infinity ? "" : tables[g].facts[row(g)].why[b] || steps.facts[here.T].why[b] || "does not apply here");
    legend.title = `At T = ${grouped(String(T))}`;
    legend.entries = bounds.map(({entry}, b) => ({...entry, number: up(now[b]), absent: now[b] === Infinity, best: b === b0,
      why: why[b] || (now[b] === 0 ? "below the log axis" : b === b0 ? "the least" : "")})).sort((a, b) => a.group < b.group ? -1 : a.group > b.group);
  }
  // The decades to show, as the live page chooses them: five up from the lowest value of this run's bounds.
  function decades(own, others, now) {
    own = own.length ? own : others;
    if (!own.length) return [-2, 2];
    const least = (xs) => xs.reduce((a, b) => Math.min(a, b), Infinity), down = (x) => Math.floor(Math.log10(x));
    let low = down(Math.min(least(own), least(others.filter((x) => x >= least(own) / 100))));
    if (now.length) low = Math.max(low, down(least(now)) - 5);
    const most = Math.max(down(least(own)), low) + 5;
    let high = Math.ceil(Math.log10(own.reduce((a, b) => Math.max(a, b))));
    high = high <= most + 1 ? high : most;
    if (now.length) high = Math.max(high, Math.ceil(Math.log10(now.filter((x) => x <= least(now) * 1e5).reduce((a, b) => Math.max(a, b)))));
    return [low, Math.max(high, low + 1)];
  }
  const steady = (wanted, old) => [old[0] <= wanted[0] && wanted[0] < old[0] + 2 ? old[0] : wanted[0], wanted[1] <= old[1] && old[1] < wanted[1] + 2 ? old[1] : wanted[1]];

  const live = (at) => {
    const query = new URLSearchParams(given.query);
    for (const [field, i] of Object.entries(at)) if (i !== all[field].at) query.set(field, String(all[field].values[i]));
    if (view !== "publish") query.set("tab", view);
    return `${given.live || HERE}${query.size ? `?${query}` : ""}`;
  };
  const opens = (at, words) => `<a href="${live(at).replaceAll("&", "&amp;")}" target="_blank" rel="noopener">${words}</a>`;
  function words() {
    const {every, last} = two(), by = shown === "every" && view === "publish", now = (by ? every : last)[here.T], other = (by ? last : every)[here.T], known = facts();
    const ratio = Math.max(now, other) / Math.min(now, other), gains = ratio >= 1.05 && ratio < Infinity && Math.min(now, other) > 0;
    const pill = gains ? `<span class="by">${now < other ? "÷" : "×"}\u202f${near(Number(ratio.toPrecision(2)))}</span>` : "";
    const kind = gains ? by ? "every" : "last" : "same";
    const fill = {T: grouped(String(steps.values[here.T])), other: up(other), now: up(now)};
    const sentence = now < Infinity ? given.trained[kind].replace(/\{(\w+)\}/g, (_, name) => fill[name]) : "";
    const named = by ? bounds.find(({line}) => line.key === "composition") : bounds[best()];
    html(places.headline, `${named.printed ? given.warning : ""}<p class="epsilon ${by || named.line.key === "composition" ? "every" : "last"}"><i>ε</i> = <b>${up(now)}</b> ${pill}</p><p class="sentence">${sentence}</p>`);
    const odds = known ? now < Infinity ? known.odds[by ? "every" : "last"] : "No bound applies to this run." : `What an attacker catches is in this file where one slider is moved. ${opens(here, "Open this pair live")}`;
    html(places.said, `<p>${odds}</p>`);
    for (const dial of dials) dial.tell(up(now));
    if (!held || !told) told = returned(); // while a slider is held its link would be read aloud at every step
    html(places.note, told ? `<p class="note" role="status">${told}</p>` : "");
    tell(places.live, opens(here, "Open this run live"));
  }
  function draw() {
    reduced = false;
    if (view === "publish") drawTwo();
    if (view === "curves") drawAll();
    if (view === "game" && facts()) Object.assign(game, {...facts().game, shown, address: live(here)});
    words();
    if (!held) keep();
  }
  // The address of what is shown, for whoever loads the file again or sends the address of one that a site serves.
  function keep() {
    const kept = new URLSearchParams(asked);
    const set = (name, value, otherwise) => value === otherwise ? kept.delete(name) : kept.set(name, value);
    set("tab", view, first.tab);
    set("publish", shown, "last");
    set("against", against, first.against);
    for (const field of Object.keys(all)) set(field, String(all[field].values[here[field]]), String(all[field].values[all[field].at]));
    try { history.replaceState(null, "", kept.size ? `#${kept}` : location.href.replace(/#.*/, "")); } catch {} // in a frame without an address
  }
  const later = () => { if (!reduced) { reduced = true; requestAnimationFrame(draw); } };

  // One slider is free, and those that are not tabled with it return to the run; the page says so for as long as it is moved.
  let free = "T", back = {};
  function release(field, kept) {
    if (field !== free) [free, back, told] = [field, {}, ""];
    for (const each of moved()) if (each !== field && !kept.includes(each)) [back[each], here[each], told] = [here[each], all[each].at, ""];
  }
  function returned() {
    const wanted = {...here, ...back}, away = Object.keys(back), both = [free, ...away];
    if (!away.length) return "";
    const at = away.map((each) => `${all[each].symbol} is back at ${all[each].texts[here[each]]}`).join(", ");
    return `${all[free].symbol} is free now; ${at}. In this file ${both.map((each) => all[each].symbol).join(" and ")} move one at a time. ${opens(wanted, `Open ${both.map((each) => `${all[each].symbol} = ${all[each].texts[wanted[each]]}`).join(", ")} live`)}`;
  }
  function move(field, to, holding) {
    held = holding;
    const group = field === "T" ? groups[active()] : groupOf(field);
    if (view === "curves" && against !== "T" && field !== "T" && !groupOf(against).includes(field)) axis("T");
    release(field, view === "game" ? field === "T" ? ["T"] : group : [...group, "T"]);
    here[field] = to;
    later();
  }
  const nearest = ({places}, x) => places.reduce((found, place, i) => Math.abs(place - x) < Math.abs(places[found] - x) ? i : found, 0);
  for (const [name, field] of [["two", () => "T"], ["all", () => against]]) {
    let last = null;
    charts[name].on("asked", () => {
      const [x, holding] = charts[name].asked;
      if (x != null) move(field(), last = nearest(all[field()], x), holding);
      else if (last != null) { held = false; later(); }
    });
  }

  // A dial: a native slider with its number.
  const box = find(".zx-settings").shadowRoot;
  const dialled = (field) => !asked.has("dials") || asked.get("dials").split(",").includes(field);
  const dials = [...sliders, ...(given.moves ? [steps] : [])].filter(({field}) => dialled(field)).map((slider) => {
    const made = Object.assign(document.createElement("div"), {className: "dial"}), {field, texts, caption} = slider;
    made.innerHTML = `<label for="${field}">${caption}</label><output for="${field}"></output><input type="range" id="${field}" min="0" max="${texts.length - 1}" step="1">`;
    const input = made.querySelector("input"), output = made.querySelector("output");
    input.addEventListener("input", () => move(field, Number(input.value), true));
    input.addEventListener("change", () => { held = false; later(); });
    box.append(made);
    return {tell: (epsilon) => {
      if (Number(input.value) !== here[field]) input.value = here[field];
      const text = texts[here[field]];
      if (output.textContent !== text) output.textContent = text;
      input.setAttribute("aria-valuetext", `${text}, ε = ${epsilon}`);
    }};
  });
  const reset = Object.assign(document.createElement("button"), {type: "button", className: "reset", textContent: "Back to the run"});
  reset.onclick = () => { for (const field of Object.keys(here)) here[field] = all[field].at; back = {}; held = false; later(); };
  box.append(reset);

  const switched = () => { for (const input of radios) input.checked = input.value === shown; };
  const radios = [...find(".zx-switch").shadowRoot.querySelectorAll("input")];
  for (const input of radios) input.onchange = () => { shown = input.value; later(); };
  game.on("shown", () => { if (game.shown !== shown) { shown = game.shown; switched(); } });
  const select = find(".zx-along").shadowRoot.querySelector("select");
  for (const {field, across} of [steps, ...sliders]) if (across) select.add(new Option(across.title, field));
  function axis(field) {
    against = select.value = field;
    if (field !== "T") release(field, ["T", ...groupOf(field)]);
    later();
  }
  select.onchange = () => axis(select.value);
  find(".zx-along").hidden = select.options.length < 2;
  legend.on("muted", later);
  tabs.on("selected", () => show(tabs.selected));
  function show(name) {
    view = name;
    back = {};
    for (const each of ["publish", "curves", "game"]) find(`.zx-${each}`).hidden = each !== view;
    find(".zx-front").className = `zx-front ${view === "curves" ? "zx-all" : "zx-two"}`;
    find(".zx-switch").hidden = view === "curves";
    for (const part of [".zx-headline", ".zx-said"]) if (find(part)) find(part).hidden = view === "game";
    if (view === "game" && !facts()) release(moved().find((field) => field !== "T"), groups[active()]);
    later();
  }
  if (views.length > 1) mount("tabs", ".zx-tabs", tabs);
  mount("legend", ".zx-legend", legend);
  switched();
  tabs.selected = view;
  axis(against);
  show(view);
  for (const field of Object.keys(all)) if (Number.isFinite(parseFloat(asked.get(field)))) move(field, nearest({places: all[field].values}, parseFloat(asked.get(field))), false);
  back = {};
  draw();
  mount("game", ".zx-board", game);
  window.zoexplore = {here, all, move, show, epsilon: () => Object.fromEntries(bounds.map(({line}, b) => [line.key, along(active(), b)[here.T]])), redraw: draw};
}
unpacked(document.getElementById("zx-given").textContent).then(begin);
