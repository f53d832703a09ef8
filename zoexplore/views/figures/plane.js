// What the moving clouds and the game share: a plane in which each mark is one run, in units of the noise; without the record it
// lies to the left, with it to the right, by half of what epsilon allows.
const RUNS = 130, LAST = 40, KEEPS = 0.8;

function generator(seed) {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  return {uniform, normal: () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())};
}

// One walk of noise, picture by picture, by what is published: the last iterate forgets, the sum of all steps does not.
function walk(random) {
  let forgets = [0, 0], adds = [0, 0];
  const found = {last: [[0, 0]], every: [[0, 0]]};
  for (let i = 1; i <= LAST; i++) {
    const step = [random.normal(), random.normal()];
    forgets = forgets.map((x, k) => KEEPS * x + step[k]);
    adds = adds.map((x, k) => x + step[k]);
    found.last.push(forgets.map((x) => x * Math.sqrt(1 - KEEPS ** 2)));
    found.every.push(adds.map((x) => x / Math.sqrt(LAST)));
  }
  return found;
}
// How wide the noise is by a picture, of which the last is one.
const width = {last: (i) => Math.sqrt(1 - KEEPS ** (2 * i)), every: (i) => Math.sqrt(i / LAST)};

const mix = (a, b, share) => a + (b - a) * share;
function between(values, frame) {
  const i = Math.min(Math.floor(frame), LAST), j = Math.min(i + 1, LAST);
  return mix(values[i], values[j], frame - i);
}

class Plane {
  constructor(box) {
    this.box = box;
    this.canvas = box.querySelector("canvas");
    const random = generator(7);
    this.noise = Array.from({length: 2 * RUNS}, () => walk(random));
  }
  colour(name) { return getComputedStyle(this.box.querySelector(`.${name}`)).color; }
  // Half of what lies between the clouds, and the noise's width, at a picture, between both readings.
  shape(apart, frame, blend) {
    const of = (kind) => { const w = between(Array.from({length: LAST + 1}, (_, i) => width[kind](i)), frame); return [between(apart[kind], frame) * w / 2, w]; };
    const [last, every] = [of("last"), of("every")];
    return [mix(last[0], every[0], blend), mix(last[1], every[1], blend)];
  }
  // Clear, and choose the scale: pixels of a unit, and where the middle is.
  begin(apart, blend, foot) {
    const {canvas} = this, ratio = devicePixelRatio || 1, W = canvas.clientWidth, H = canvas.clientHeight;
    if (canvas.width !== Math.round(W * ratio) || canvas.height !== Math.round(H * ratio)) {
      canvas.width = Math.round(W * ratio);
      canvas.height = Math.round(H * ratio);
    }
    const pen = this.pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, W, H);
    const most = mix(apart.last[LAST], apart.every[LAST], blend);
    this.bells = Math.min(90, 0.2 * H);
    this.top = H - this.bells - foot;
    this.unit = Math.min(W / (5.6 + Math.min(most, 40)), this.top / 5.4);
    this.centre = [W / 2, this.top / 2];
    this.size = [W, H, foot];
    return W > 0 && H > 0;
  }
  place([x, y]) { return [this.centre[0] + x * this.unit, this.centre[1] - y * this.unit]; }
  clouds(apart, frame, blend, alpha = 0.75) {
    const {pen} = this, [half] = this.shape(apart, frame, blend), colours = [this.colour("with"), this.colour("without")];
    const i = Math.min(Math.floor(frame), LAST), j = Math.min(i + 1, LAST), share = frame - i;
    for (let k = 0; k < RUNS; k++) for (const side of k % 2 ? [0, 1] : [1, 0]) {  // in turn, so that neither lies on top
      const {last, every} = this.noise[k + side * RUNS];
      const at = (c) => mix(mix(last[i][c], last[j][c], share), mix(every[i][c], every[j][c], share), blend);
      const [x, y] = this.place([at(0) + (side ? -half : half), at(1)]);
      if (x < 4 || y < 4 || x > this.size[0] - 4 || y > this.top - 4) continue;
      this.mark(side, x, y, colours[side], alpha);
    }
    pen.globalAlpha = 1;
  }
  mark(side, x, y, colour, alpha) {
    const {pen} = this;
    pen.globalAlpha = alpha;
    pen.beginPath();
    if (side) {
      pen.moveTo(x, y - 4); pen.lineTo(x + 4, y); pen.lineTo(x, y + 4); pen.lineTo(x - 4, y); pen.closePath();
      pen.strokeStyle = colour; pen.lineWidth = 1.4; pen.stroke();
    } else {
      pen.arc(x, y, 3.1, 0, 7);
      pen.fillStyle = colour; pen.fill();
    }
  }
  // The two laws of what an attacker sees, below the clouds.
  laws(apart, frame, blend) {
    const {pen, size: [W, H, foot], centre: [middle], unit, bells} = this, base = H - foot;
    const [half, spread] = this.shape(apart, frame, blend), wide = Math.max(spread, 0.05);
    for (const side of [1, 0]) {
      const colour = this.colour(side ? "without" : "with");
      pen.beginPath();
      for (let x = 0; x <= W; x += 2) {
        const z = ((x - middle) / unit - (side ? -half : half)) / wide, y = base - 0.92 * bells * Math.exp(-z * z / 2);
        if (x) pen.lineTo(x, y); else pen.moveTo(x, y);
      }
      pen.strokeStyle = colour; pen.lineWidth = 2; pen.setLineDash(side ? [5, 3] : []); pen.stroke(); pen.setLineDash([]);
      pen.lineTo(W, base); pen.lineTo(0, base);
      pen.globalAlpha = 0.1; pen.fillStyle = colour; pen.fill(); pen.globalAlpha = 1;
    }
  }
}
const CAPTIONS = `<p class="sides" aria-hidden="true"><span class="without">◇ without your record</span> <span class="with">with it ●</span><i class="every"></i></p>`;
