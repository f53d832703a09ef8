// Powers of ten, as every figure writes them.
const power = (e) => "10" + [...String(e)].map((c) => c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(c)]).join("");
// The decades from a number to another with their texts, about `most` of them.
function decades(low, high, most) {
  const first = Math.ceil(Math.log10(low) - 1e-9), count = Math.floor(Math.log10(high) + 1e-9) - first + 1;
  return Array.from({length: Math.max(count, 0)}, (_, i) => first + i).filter((e) => e % Math.ceil(count / most) === 0)
    .map((e) => [10 ** e, e > -4 && e < 4 ? String(Number((10 ** e).toPrecision(1))) : power(e)]);
}
