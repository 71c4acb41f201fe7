// Draws rows of values over time as shades of one neutral scale; what is absent is hatched.
import type uPlot from "uplot";
import { hatching } from "./marks";
import { colour } from "./theme";

export interface HeatRow {
  node: string;
  gpu: string;
  name: string;
  values: (number | null)[];
}

export interface Painter {
  draw: (plot: uPlot) => void;
  low: number | null;
  high: number | null;
}

const TALL = 14; // pixels of a row, while there is room
const MOST = 360;
const NAMED = 9; // a row that is less high has no name

export function heightOf(rows: number): number {
  return Math.min(MOST, Math.max(1, rows) * TALL);
}

/** Return what draws the rows, and between which values its scale goes. */
export function heatPainter(rows: HeatRow[], times: number[]): Painter {
  const known = rows.flatMap(({ values }) => values.filter((value) => value !== null));
  const low = known.length ? known.reduce((a, b) => Math.min(a, b)) : null;
  const high = known.length ? known.reduce((a, b) => Math.max(a, b)) : null;
  const from = low !== null && high !== null && low >= 0 && low < high / 2 ? 0 : (low ?? 0);
  return { draw: (plot) => paint(plot, rows, times, from, high ?? 1), low: from, high };
}

function paint(plot: uPlot, rows: HeatRow[], times: number[], low: number, high: number): void {
  const { ctx, bbox } = plot;
  const tall = bbox.height / rows.length;
  const gap = tall > 4 * devicePixelRatio ? devicePixelRatio : 0;
  const edges = edgesOf(plot, times);
  ctx.save();
  rows.forEach((row, r) => {
    const y = Math.round(bbox.top + r * tall);
    const height = Math.round(bbox.top + (r + 1) * tall) - y - gap;
    ctx.globalAlpha = 1;
    ctx.fillStyle = hatching(ctx) ?? "transparent";
    ctx.fillRect(bbox.left, y, bbox.width, height);
    times.forEach((_, i) => {
      const value = row.values[i] ?? null;
      if (value === null) return;
      const [x, end] = [edges[i]!, edges[i + 1]!];
      ctx.globalAlpha = 1;
      ctx.fillStyle = colour("card");
      ctx.fillRect(x, y, end - x, height);
      ctx.globalAlpha = high > low ? 0.06 + 0.84 * ((value - low) / (high - low)) : 0.4;
      ctx.fillStyle = colour("n5");
      ctx.fillRect(x, y, end - x, height);
    });
  });
  ctx.globalAlpha = 1;
  names(plot, rows, tall);
  ctx.restore();
}

/** Return where each column begins, in canvas pixels, within the plot; the last is where the last one ends. */
function edgesOf(plot: uPlot, times: number[]): number[] {
  const { left, width } = plot.bbox;
  const step = (times[1] ?? 0) - (times[0] ?? 0);
  const bounded = (x: number) => Math.round(Math.min(left + width, Math.max(left, x)));
  return [...times, (times[times.length - 1] ?? 0) + step].map((time) =>
    bounded(plot.valToPos(time - step / 2, "x", true)),
  );
}

function names(plot: uPlot, rows: HeatRow[], tall: number): void {
  const { ctx, bbox } = plot;
  const dot = devicePixelRatio;
  const each = Math.max(1, Math.ceil((NAMED * dot) / tall));
  ctx.font = `${10 * dot}px ${getComputedStyle(document.body).fontFamily}`;
  ctx.fillStyle = colour("ink-3");
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  rows.forEach((row, r) => {
    if (r % each === 0) ctx.fillText(row.name, bbox.left - 6 * dot, bbox.top + (r + 0.5) * tall);
  });
}
