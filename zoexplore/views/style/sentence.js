// A sentence with blanks: each is an input or a menu. What was typed wrongly stays, and is marked.
export function render({model}) {
  const box = Object.assign(document.createElement("p"), {className: "blanks"}), made = new Map();
  const blank = (name) => {
    const {label, options} = model.blanks[name], input = document.createElement(options ? "select" : "input");
    input.setAttribute("aria-label", label);
    if (options) for (const [value, text] of options) input.add(new Option(text, value));
    const tell = () => { if (input.value !== model.blanks[name].text) model.asked = [name, input.value, Date.now()]; };
    input.addEventListener("change", tell);
    input.addEventListener("input", () => { if (!options) fit(input); });
    made.set(name, input);
    return input;
  };
  const fit = (input) => { input.style.width = `calc(${Math.max(input.value.length, 1)}ch + 26px)`; };
  const build = () => {
    box.replaceChildren();
    made.clear();
    const parts = model.said.split(/\{(\w+)\}/);
    parts.forEach((part, i) => {
      if (i % 2 === 0) return box.append(i ? part.replace(/^[.,:]/, "") : part);
      const whole = document.createElement("span"), [mark] = parts[i + 1].match(/^[.,:]?/); // a blank and its punctuation never part
      whole.append(blank(part), mark);
      box.append(whole);
    });
    show();
  };
  const show = () => {
    for (const [name, input] of made) {
      const {text, wrong, disabled} = model.blanks[name];
      input.disabled = Boolean(disabled);
      if (input.getRootNode().activeElement !== input || !wrong) input.value = text;
      if (input.tagName === "INPUT") fit(input);
      input.setAttribute("aria-invalid", Boolean(wrong));
    }
  };
  let told = "", due = false;
  const tell = () => { if (told !== model.said) { told = model.said; build(); } else show(); };
  const later = () => { // both come in one message, one after the other
    if (due) return;
    due = true;
    queueMicrotask(() => { due = false; tell(); });
  };
  for (const name of ["said", "blanks"]) model.on(name, later);
  tell();
  return box;
}
