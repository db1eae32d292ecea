// Exact decimals of the exchange: up to 8 digits after the point, held as whole units of 1e-8 in a BigInt. Cash has up to
// 16, as shares times a price have. Pure.

const shape = /^(-?)(?=\.?\d)(\d*)\.?(\d*)$/;  // ".5" and "5." too, as the server

function parsed(text, places) {
  const [, sign, whole, digits] = (typeof text === "string" && shape.exec(text)) || [];
  if (whole === undefined) return null;
  const fraction = digits.replace(/0+$/, "");
  if (fraction.length > places) return null;
  const magnitude = BigInt(whole + fraction.padEnd(places, "0"));
  return sign ? -magnitude : magnitude;
}

function printed(value, places) {
  const negative = value < 0n;
  const digits = (negative ? -value : value).toString().padStart(places + 1, "0");
  const fraction = digits.slice(-places).replace(/0+$/, "");
  return (negative ? "-" : "") + digits.slice(0, -places) + (fraction ? "." + fraction : "");
}

// Units of "127.5", or null where the text is not such a decimal; of cash, units of 1e-16.
export const units = (text) => parsed(text, 8);
export const cashUnits = (text) => parsed(text, 16);

// Shortest plain decimal of units: the inverse of units() and cashUnits().
export const decimal = (value) => printed(value, 8);
export const cashDecimal = (value) => printed(value, 16);

// How many digits follow the point.
export function decimals(text) {
  const point = text.indexOf(".");
  return point < 0 ? 0 : text.length - point - 1;
}

// The most of these texts, of which some may be missing.
export const decimalsOf = (texts) => Math.max(0, ...texts.map((text) => decimals(text ?? "")));

// "1234567.5" with thousands apart and at least `decimals_min` decimals: "1,234,567.50". Never drops a digit.
export function grouped(text, decimals_min = 0) {
  const [whole, fraction = ""] = text.split(".");
  const shown = fraction.padEnd(decimals_min, "0");
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (shown ? "." + shown : "");
}

// For pixels alone.
export const approximate = (value) => Number(value) / 1e8;
