// Numbers as people read them, by the closed list of units that panels have.

export interface Quantity {
  text: string;
  unit: string;
}

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const DECIMAL = ["", "k", "M", "G", "T", "P"];
const MINUS = "−";

function digits(value: number): string {
  const size = Math.abs(value);
  const places = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 3;
  const text = size >= 100_000 ? Math.round(size).toLocaleString("en") : size.toFixed(places);
  return (value < 0 ? MINUS : "") + (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
}

function scaled(value: number, step: number, names: string[], suffix: string): Quantity {
  let size = value;
  let power = 0;
  while (Math.abs(size) >= step && power < names.length - 1) {
    size /= step;
    power++;
  }
  return { text: digits(size), unit: `${names[power] ?? ""}${suffix}` };
}

function duration(seconds: number): Quantity {
  const size = Math.abs(seconds);
  if (size === 0) return { text: "0", unit: "s" };
  if (size < 1e-3) return { text: digits(seconds * 1e6), unit: "µs" };
  if (size < 1) return { text: digits(seconds * 1e3), unit: "ms" };
  if (size < 120) return { text: digits(seconds), unit: "s" };
  if (size < 7200) return { text: digits(seconds / 60), unit: "min" };
  if (size < 172_800) return { text: digits(seconds / 3600), unit: "h" };
  return { text: digits(seconds / 86_400), unit: "d" };
}

/** Return a share with one decimal, so that a column of them stands in line; nothing and all say so. */
function share(percent: number): Quantity {
  const size = Math.abs(percent);
  const text = size.toFixed(size === 0 || size >= 99.95 ? 0 : 1);
  return { text: (percent < 0 ? MINUS : "") + text, unit: "%" };
}

const FORMS: Record<string, (value: number) => Quantity> = {
  ratio: (v) => share(v * 100),
  percent: share,
  bytes: (v) => scaled(v, 1024, BINARY, ""),
  "bytes/s": (v) => scaled(v, 1000, DECIMAL, "B/s"),
  "bits/s": (v) => scaled(v, 1000, DECIMAL, "bit/s"),
  celsius: (v) => ({ text: digits(Math.round(v * 10) / 10), unit: "°C" }),
  watts: (v) => scaled(v, 1000, DECIMAL, "W"),
  joules: (v) => scaled(v, 1000, DECIMAL, "J"),
  hertz: (v) => scaled(v, 1000, DECIMAL, "Hz"),
  seconds: duration,
  milliseconds: (v) => duration(v / 1000),
  "ops/s": (v) => scaled(v, 1000, DECIMAL, "/s"),
  bool: (v) => ({ text: v ? "yes" : "no", unit: "" }),
  rpm: (v) => ({ text: digits(v), unit: "rpm" }),
};

/** Return a value and its unit as text, apart, so that the unit can stand back. */
export function quantity(value: number, unit: string): Quantity {
  if (!Number.isFinite(value))
    return { text: Number.isNaN(value) ? "NaN" : value > 0 ? "+∞" : `${MINUS}∞`, unit: "" };
  const form = FORMS[unit];
  if (form) return form(value);
  return Math.abs(value) >= 1e6 ? scaled(value, 1000, DECIMAL, "") : { text: digits(value), unit: "" };
}

/** Return a value with its unit as one text; what is absent is a dash, never 0. */
export function formatValue(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined) return "–";
  const { text, unit: of } = quantity(value, unit);
  return of === "%" || !of ? `${text}${of}` : `${text} ${of}`;
}

/** Return two values as the ends of a span, with one unit if they share it. */
export function between(low: number | null, high: number | null, unit: string): string {
  if (low === null || high === null) return "–";
  const [from, to] = [quantity(low, unit), quantity(high, unit)];
  return from.unit === to.unit
    ? `${from.text} to ${formatValue(high, unit)}`
    : `${formatValue(low, unit)} to ${formatValue(high, unit)}`;
}

const ENDINGS = ["ratio", "bytes", "celsius", "watts", "joules", "hertz", "seconds"];

/** Return the unit of a question, as far as the name of its one metric tells. */
export function unitOf(promql: string): string {
  const names = new Set(promql.match(/[a-zA-Z_:][\w:]*_(?:total|[a-z]+)\b(?=\s*[{[)]|\s*$)/g) ?? []);
  const [name] = names;
  if (names.size !== 1 || !name || /[/*]|\bcount\b/.test(promql)) return "";
  const ending =
    name
      .replace(/_total$/, "")
      .split("_")
      .pop() ?? "";
  if (!ENDINGS.includes(ending)) return "";
  if (!/\b(?:i?rate|deriv)\s*\(/.test(promql)) return ending;
  return ending === "bytes" ? "bytes/s" : ending === "joules" ? "watts" : ending === "seconds" ? "ratio" : "";
}
