// A notebook's cells, whose page is not ours, are named by this part of one of them; what is rendered later is named as it comes.
export function render({view}) {
  const act = () => nameAll(everything());
  let waits = null;
  view.model.document.on_change(() => { clearTimeout(waits); waits = setTimeout(act, 300); });
  view.model.document.is_idle ? act() : view.model.document.idle.connect(act);
  return document.createElement("span");
}
