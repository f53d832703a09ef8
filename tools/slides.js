// Slides fill their window at their true size: if Reveal scaled them, Bokeh's figures would be cut and mistake the mouse's place.
// Figures get the height that the text leaves them. If there is too much text, the text and components without figures get smaller.
// A slide that is still too tall scrolls; a lesson and printed output scroll by themselves.
(() => {
  const LEAST = 180, MOST = 2.5, SMALLEST = 0.7; // pixels of a figure; times its own height; times the text's own size
  const SHORTEST = 480, PRINTED = ".jp-OutputArea-output pre"; // pixels of a lesson's frame
  const laidOut = () => new Promise((done) => setTimeout(done, 60)); // Bokeh's figures follow a little later

  function figures(node) {
    if (node.classList?.contains("bk-Figure")) return [node];
    return [...(node.shadowRoot?.children ?? []), ...node.children].flatMap(figures);
  }

  function own(elements) {
    for (const { style } of elements) style.height = style.maxHeight = style.width = "";
  }

  function sized(drawn, times) {
    for (const { style, height, width } of drawn) {
      const square = Math.abs(Math.log(width / height)) < 0.25; // keeps its shape, which means something
      const tall = Math.max(Math.min(LEAST, height), Math.round(height * (square ? Math.min(1, times) : times)));
      style.height = style.maxHeight = `${tall}px`;
      if (square) style.width = `${Math.round((tall * width) / height)}px`;
    }
  }

  function left(slide) {
    const ends = [...slide.children].map((child) => child.offsetTop + child.offsetHeight);
    return slide.clientHeight - parseFloat(getComputedStyle(slide).paddingBottom) - Math.max(...ends);
  }

  function bounded(slide, what, least) { // a bounded part scrolls by itself
    for (const part of slide.querySelectorAll(what)) {
      part.style.maxHeight = "";
      part.style.maxHeight = `${Math.max(least, part.offsetHeight + Math.min(0, left(slide)))}px`;
    }
  }

  async function filled(slide) {
    const elements = figures(slide);
    own(elements);
    await laidOut();
    const drawn = elements.map(({ style, offsetHeight, offsetWidth }) => ({ style, height: offsetHeight, width: offsetWidth }));
    const before = left(slide);
    sized(drawn, 0.8);
    await laidOut();
    const together = (left(slide) - before) / 0.2; // how tall they are, one below the other
    if (together > 0) sized(drawn, Math.min(MOST, 1 + before / together));
    else own(elements);
    await laidOut();
  }

  function shrink(slide, size) {
    slide.style.setProperty("--smaller", size);
    slide.style.setProperty("--zoom", figures(slide).length ? 1 : size);
  }

  async function fit(slide) {
    shrink(slide, 1);
    bounded(slide, "iframe", SHORTEST);
    await filled(slide);
    for (let size = 0.95; left(slide) < -1 && size >= SMALLEST; size -= 0.05) {
      shrink(slide, size.toFixed(2));
      await laidOut();
    }
    if (left(slide) < -1) { // the slide has to scroll in any case
      shrink(slide, 1);
      bounded(slide, PRINTED, LEAST);
    }
    slide.dataset.fitted = `${innerWidth} x ${innerHeight}`;
  }

  const current = () => fit(Reveal.getCurrentSlide());
  const options = { history: true, disableLayout: true, transition: "none", center: false };
  Reveal.initialize(options).then(() => setTimeout(current, 300)); // until the slide's figures are there
  Reveal.on("slidechanged", current);
  window.addEventListener("resize", current);
})();
