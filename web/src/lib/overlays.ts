// What is drawn over and under the lines of a chart: absence, thresholds, events, the moment looked at.
import type uPlot from "uplot";
import type { Line } from "./lines";
import { colour } from "./theme";
import type { Range } from "./time";
import type { EventRow, Threshold } from "./types";

let hatch: { tone: string; pattern: CanvasPattern | null } | null = null;

/** Return the pattern of what is absent. */
export function hatchPattern(context: CanvasRenderingContext2D): CanvasPattern | null {
  const tone = colour("hatch");
  if (hatch?.tone === tone) return hatch.pattern;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const pen = tile.getContext("2d")!;
  pen.strokeStyle = tone;
  pen.lineWidth = 1;
  for (const shift of [-8, 0, 8]) stroke(pen, shift, 8, shift + 8, 0);
  hatch = { tone, pattern: context.createPattern(tile, "repeat") };
  return hatch.pattern;
}

/** Hatch where no line has a value. */
export function drawAbsence(plot: uPlot, times: number[], lines: Line[], range: Range): void {
  const step = (times[1] ?? 0) - (times[0] ?? 0);
  const holes: [number, number][] = [];
  let begin: number | null = range.from / 1000;
  times.forEach((time, i) => {
    const known = lines.some(({ values }) => values[i] != null);
    if (known && begin !== null) {
      if (time - begin > 1.5 * step) holes.push([begin, time]);
      begin = null;
    } else if (!known && begin === null) begin = times[i - 1] ?? time;
  });
  const last = range.to / 1000;
  if (begin !== null && last - begin > 2.5 * step) holes.push([begin, last]);
  plot.ctx.fillStyle = hatchPattern(plot.ctx) ?? "transparent";
  for (const [from, to] of holes) {
    const x = plot.valToPos(from, "x", true);
    plot.ctx.fillRect(x, plot.bbox.top, plot.valToPos(to, "x", true) - x, plot.bbox.height);
  }
}

/** Shade the time in which a line of a state has values: what it tells of went on then. */
export function drawStates(plot: uPlot, times: number[], lines: Line[]): void {
  const { ctx, bbox } = plot;
  const half = ((times[1] ?? 0) - (times[0] ?? 0)) / 2;
  ctx.save();
  for (const { state, values } of lines) {
    if (!state) continue;
    ctx.fillStyle = colour(`${state}-shade`);
    times.forEach((time, i) => {
      if (values[i] == null) return;
      const x = Math.round(Math.max(bbox.left, plot.valToPos(time - half, "x", true)));
      const end = Math.round(Math.min(bbox.left + bbox.width, plot.valToPos(time + half, "x", true)));
      ctx.fillRect(x, bbox.top, end - x, bbox.height);
    });
  }
  ctx.restore();
}

/** Draw the lines above, or below, which something is wrong. */
export function drawThresholds(plot: uPlot, thresholds: Threshold[]): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const { value, state } of thresholds) {
    const y = plot.valToPos(value, "y", true);
    if (y < bbox.top || y > bbox.top + bbox.height) continue;
    ctx.strokeStyle = colour(state);
    stroke(ctx, bbox.left, y, bbox.left + bbox.width, y);
  }
  ctx.restore();
}

/** Draw a tick for each event, so many pixels above the top, and the moment that is looked at. */
export function drawMarks(plot: uPlot, range: Range, events: EventRow[], above = 0): void {
  const { ctx, bbox } = plot;
  const dot = devicePixelRatio;
  ctx.save();
  if (range.at !== null) {
    ctx.lineWidth = dot;
    ctx.setLineDash([4 * dot, 3 * dot]);
    ctx.strokeStyle = colour("ink-2");
    const x = plot.valToPos(range.at / 1000, "x", true);
    stroke(ctx, x, bbox.top, x, bbox.top + bbox.height);
  }
  for (const event of events) {
    ctx.fillStyle = colour(event.severity === "info" ? "n4" : event.severity);
    const x = plot.valToPos(event.begin_ms / 1000, "x", true);
    if (x >= bbox.left && x <= bbox.left + bbox.width)
      ctx.fillRect(x - dot, bbox.top - above * dot, 2 * dot, 7 * dot);
  }
  ctx.restore();
}

function stroke(pen: CanvasRenderingContext2D, x: number, y: number, to: number, down: number): void {
  pen.beginPath();
  pen.moveTo(x, y);
  pen.lineTo(to, down);
  pen.stroke();
}
