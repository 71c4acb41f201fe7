// Draws rows of values over time as shades of one neutral scale; what is absent is hatched.
import type uPlot from "uplot";
import { hatchPattern } from "./overlays";
import { colour } from "./theme";
import type { Threshold } from "./types";

export interface HeatRow {
  name: string;
  to: string; // where a click leads; "" leads nowhere
  values: (number | null)[];
}

/** What the shades mean: the values of the palest and the darkest, and from when on something is wrong. */
export interface Shades {
  low: number;
  high: number;
  thresholds: Threshold[];
}

const TALL = 14; // pixels of a row, while there is room
const MOST = 360;
const NAMED = 9; // pixels of a row that has its name; of lower ones only some have
const APART = 14; // pixels from one of those names to the next
const LETTER = 5.6; // pixels
const STEPS = 64; // shades
const PALE = 0.07; // of the lowest value, so that it differs from the card
const DARK = 0.92;

export function heightOf(rows: number): number {
  return Math.min(MOST, Math.max(1, rows) * TALL);
}

/** Return how many pixels the names take. */
export function gutterOf(rows: HeatRow[]): number {
  const longest = rows.reduce((most, { name }) => Math.max(most, name.length), 0);
  return Math.round(Math.min(150, Math.max(40, 14 + longest * LETTER)));
}

/** Return between which values the shades go: as the panel says, else as the values themselves do. */
export function shadesOf(
  rows: HeatRow[],
  floor: number | null = null,
  ceiling: number | null = null,
  thresholds: Threshold[] = [],
): Shades {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { values } of rows)
    for (const value of values) {
      if (value === null) continue;
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
  if (least > most) [least, most] = [0, 1]; // nothing is known
  const low = floor ?? (least >= 0 && least < most / 2 ? 0 : least);
  return { low: Math.min(low, least), high: Math.max(ceiling ?? most, most), thresholds };
}

/** Return what draws the rows into a plot. */
export function heatPainter(rows: HeatRow[], times: number[], shades: Shades): (plot: uPlot) => void {
  let image: { look: string; drawn: HTMLCanvasElement } | null = null;
  return (plot) => {
    const look = colour("card") + colour("n5");
    if (image?.look !== look) image = { look, drawn: imageOf(rows, times.length, shades) };
    paint(plot, rows, times, image.drawn);
  };
}

/** Return the colours from low to high, and those of each state, four bytes each. */
function palette(thresholds: Threshold[]): Uint8ClampedArray[] {
  const states = thresholds.map(({ state }) => state);
  const one = document.createElement("canvas");
  one.width = STEPS + states.length;
  one.height = 1;
  const pen = one.getContext("2d", { willReadFrequently: true })!;
  pen.fillStyle = colour("card");
  pen.fillRect(0, 0, one.width, 1);
  pen.fillStyle = colour("n5");
  for (let step = 0; step < STEPS; step++) {
    pen.globalAlpha = PALE + ((DARK - PALE) * step) / (STEPS - 1);
    pen.fillRect(step, 0, 1, 1);
  }
  pen.globalAlpha = 1;
  states.forEach((state, i) => {
    pen.fillStyle = colour(state);
    pen.fillRect(STEPS + i, 0, 1, 1);
  });
  const { data } = pen.getImageData(0, 0, one.width, 1);
  return Array.from({ length: one.width }, (_, i) => data.slice(4 * i, 4 * i + 4));
}

/** Return an image with one pixel for each value; what is absent is clear. */
function imageOf(rows: HeatRow[], columns: number, shades: Shades): HTMLCanvasElement {
  const drawn = document.createElement("canvas");
  drawn.width = Math.max(1, columns);
  drawn.height = Math.max(1, rows.length);
  const pen = drawn.getContext("2d")!;
  const image = pen.createImageData(drawn.width, drawn.height);
  const colours = palette(shades.thresholds);
  rows.forEach(({ values }, r) => {
    for (let i = 0; i < columns; i++) {
      const value = values[i] ?? null;
      if (value !== null) image.data.set(colours[shadeOf(value, shades)]!, 4 * (r * drawn.width + i));
    }
  });
  pen.putImageData(image, 0, 0);
  return drawn;
}

/** Return the number of a value's colour. */
function shadeOf(value: number, { low, high, thresholds }: Shades): number {
  const reached = thresholds.findLastIndex((t) => (t.below ? value <= t.value : value >= t.value));
  if (reached >= 0) return STEPS + reached;
  if (high <= low) return STEPS >> 1;
  return Math.round(((value - low) / (high - low)) * (STEPS - 1));
}

function paint(plot: uPlot, rows: HeatRow[], times: number[], image: HTMLCanvasElement): void {
  const { ctx, bbox } = plot;
  const step = (times[1] ?? 0) - (times[0] ?? 0);
  const at = (time: number) => plot.valToPos(time, "x", true);
  const left = at((times[0] ?? 0) - step / 2);
  const right = at((times[times.length - 1] ?? 0) + step / 2);
  const tall = bbox.height / rows.length;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.fillStyle = hatchPattern(ctx) ?? "transparent";
  ctx.fillRect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.imageSmoothingEnabled = tall < 1; // several rows share a line of pixels
  ctx.drawImage(image, left, bbox.top, right - left, bbox.height);
  if (tall > 4 * devicePixelRatio) between(plot, rows.length, tall);
  ctx.restore();
  names(plot, rows, tall);
}

/** Draw what keeps rows apart. */
function between({ ctx, bbox }: uPlot, rows: number, tall: number): void {
  ctx.fillStyle = colour("card");
  for (let r = 1; r < rows; r++)
    ctx.fillRect(bbox.left, Math.round(bbox.top + r * tall) - devicePixelRatio, bbox.width, devicePixelRatio);
}

function names(plot: uPlot, rows: HeatRow[], tall: number): void {
  const { ctx, bbox } = plot;
  const dot = devicePixelRatio;
  const each = tall >= NAMED * dot ? 1 : Math.ceil((APART * dot) / tall);
  ctx.save();
  ctx.font = `${10 * dot}px ${getComputedStyle(document.body).fontFamily}`;
  ctx.fillStyle = colour("ink-3");
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  const room = bbox.left - 8 * dot;
  rows.forEach((row, r) => {
    const middle = Math.max((r + 0.5) * tall, 5 * dot); // the first is not cut off at the top
    if (r % each === 0) ctx.fillText(row.name, bbox.left - 6 * dot, bbox.top + middle, room);
  });
  ctx.restore();
}
