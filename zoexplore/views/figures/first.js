// Where the still picture's figure is, in whatever shadow root.
const find = (root) => root.querySelector(".chart") ?? [...root.querySelectorAll("*")].map((each) => each.shadowRoot && find(each.shadowRoot)).find(Boolean);
