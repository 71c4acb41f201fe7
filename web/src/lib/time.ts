// Moments and spans: as they stand in the address, and as people read them.

export interface Range {
  from: number; // ms
  to: number;
  live: boolean; // its end is now, and moves on
  at: number | null; // the moment that is looked at, when it is not now
}

const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };
let usual = 180; // minutes that are shown when nothing else is said

const AROUND = 30 * 60_000; // what is shown around a moment

/** Return the moment that a text means: now, now-6h, milliseconds, or RFC 3339; null if none. */
export function moment(text: string | null, now: number): number | null {
  if (!text) return null;
  const relative = /^now(?:-(\d+(?:\.\d+)?)([smhdw]))?$/.exec(text);
  if (relative) return now - Number(relative[1] ?? 0) * (SECONDS[relative[2] ?? "s"] ?? 0) * 1000;
  if (/^\d+(\.\d+)?$/.test(text)) {
    const value = Number(text);
    return value < 1e11 ? value * 1000 : value; // the API takes seconds, too
  }
  const parsed = Date.parse(text);
  return Number.isNaN(parsed) ? null : parsed;
}

/** Return what `from` means when it is not said. */
export function defaultFrom(): string {
  return usual < 60 ? `now-${usual}m` : `now-${usual / 60}h`;
}

/** Show so many minutes when nothing else is said: a server that is young has no more. */
export function setDefaultRange(minutes: number): void {
  usual = minutes;
}

/** Return the range that an address means. */
export function rangeOf(query: URLSearchParams, now: number): Range {
  const at = moment(query.get("at"), now);
  const from = moment(query.get("from"), now);
  const to = moment(query.get("to"), now);
  if (from === null && to === null && at !== null) {
    const end = Math.min(at + AROUND, Math.max(now, at));
    return { from: end - 2 * AROUND, to: end, live: false, at };
  }
  const end = to ?? now;
  const begin = from ?? end - usual * 60_000;
  const live = at === null && (query.get("to") ?? "now") === "now";
  return { from: Math.min(begin, end - 60_000), to: end, live, at };
}

/** Return a span in two words at most: 43 s, 12 min, 3 h 20 min, 2 d 4 h. */
export function span(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 90) return `${s} s`;
  const min = Math.floor(s / 60);
  if (min < 90) return `${min} min`;
  const h = Math.floor(min / 60);
  if (h < 48) return h < 10 && min % 60 ? `${h} h ${min % 60} min` : `${h} h`;
  const d = Math.floor(h / 24);
  return d < 10 && h % 24 ? `${d} d ${h % 24} h` : `${d} d`;
}

export function ago(ms: number, now: number): string {
  const seconds = (now - ms) / 1000;
  return seconds < 5 ? "just now" : `${span(seconds)} ago`;
}

const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const EXACT = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** Return the time of day, with the day when it is another. */
export function clock(ms: number, now: number): string {
  const day = DAY.format(ms);
  return day === DAY.format(now) ? TIME.format(ms) : `${day} ${TIME.format(ms)}`;
}

export function exact(ms: number): string {
  return `${DAY.format(ms)} ${EXACT.format(ms)}`;
}
