// A uPlot drawn our way: neutral tones, the median in its band, one cursor for all charts of a page.
import uPlot from "uplot";
import { type Drawing, type Line, stackedUp } from "./lines";
import { drawAbsence, drawMarks, drawStates, drawThresholds } from "./overlays";
import { colour } from "./theme";
import type { Range } from "./time";
import type { EventRow, Panel } from "./types";
import { formatValue } from "./units";

export interface Shown {
  panel: Panel;
  drawing: Drawing;
  range: Range;
  events: EventRow[];
  height: number;
}

export interface Plotted {
  uplot: uPlot;
  show: (shown: Shown) => void;
}

const TONES = ["n5", "n3", "n4"]; // each far enough from the ground to be seen as a line
const ODD = [
  [5, 2],
  [2, 2],
  [9, 3],
];
const DASHES = [[], [6, 3], [2, 2]];
export const HEIGHT = 148;
export { drawMarks, hatchPattern } from "./overlays";

/** Return the tone and the dash of the nth line; an odd one is told by its name, and colour is for what is wrong. */
export function strokeOf(
  index: number,
  { odd, state }: Pick<Line, "odd" | "state"> = {},
): { tone: string; dash: number[] } {
  if (state) return { tone: state, dash: [] };
  if (odd) return { tone: "n5", dash: ODD[index % ODD.length]! };
  return {
    tone: TONES[index % TONES.length]!,
    dash: DASHES[Math.floor(index / TONES.length) % DASHES.length]!,
  };
}

/** Return the index of each line among those that are drawn alike. */
export function ranks(drawing: Drawing): number[] {
  let plain = 0;
  let odd = 0;
  return drawing.lines.map((line) => (line.odd ? odd++ : line.state ? 0 : plain++));
}

function dataOf({ drawing }: Shown): uPlot.AlignedData {
  const lines = drawing.stacked ? stackedUp(drawing.lines) : drawing.lines.map(({ values }) => values);
  const bands = drawing.bands.flatMap(({ low, high }) => [low, high]);
  return [drawing.times, ...bands, ...lines] as uPlot.AlignedData;
}

function seriesOf(shown: Shown): uPlot.Series[] {
  const { drawing } = shown;
  const edge: uPlot.Series = { stroke: "transparent", width: 0, points: { show: false } };
  const order = ranks(drawing);
  const lines = drawing.lines.map((line, i) => {
    const { tone, dash: dashed } = strokeOf(order[i]!, line);
    const dash = drawing.stacked ? [] : dashed;
    const series: uPlot.Series = {
      stroke: colour(tone),
      width: line.odd ? 1.25 : 1.5,
      dash,
      points: { show: false },
    };
    if (drawing.stacked && i === 0) series.fill = colour(`${tone}-fill`);
    return series;
  });
  return [{}, ...drawing.bands.flatMap(() => [edge, edge]), ...lines];
}

function bandsOf({ drawing }: Shown): uPlot.Band[] {
  if (drawing.bands.length)
    return drawing.bands.map((_, i) => ({ series: [2 * i + 2, 2 * i + 1], fill: colour("band") }));
  if (!drawing.stacked) return [];
  const order = ranks(drawing);
  return drawing.lines
    .slice(1)
    .map((_, i) => ({ series: [i + 2, i + 1], fill: colour(`${strokeOf(order[i + 1]!).tone}-fill`) }));
}

function scaleOf(now: () => Shown): uPlot.Scale.Range {
  return (_plot, low, high) => {
    const { panel } = now();
    const [least, most] = [low ?? 0, high ?? 1];
    const bottom = panel.floor ?? (least >= 0 && least < most / 2 ? 0 : null);
    const room = (most - (bottom ?? least)) * 0.08 || Math.abs(most) * 0.1 || 1;
    const top = panel.ceiling !== null ? Math.max(panel.ceiling, most) : most + room;
    return [bottom !== null ? Math.min(bottom, least) : least - room, top];
  };
}

function look(): Partial<uPlot.Axis> {
  const font = `11px ${getComputedStyle(document.body).fontFamily}`;
  const grid = { stroke: () => colour("grid"), width: 1 };
  return { stroke: () => colour("ink-3"), font, ticks: { show: false }, grid };
}

const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** Return the axis of time, so many pixels high. */
export function timeAxis(size: number): uPlot.Axis {
  return {
    ...look(),
    grid: { show: false },
    size,
    gap: 8, // clear of the lowest value of the other axis
    space: 52,
    values: (_plot, splits, _axis, _space, gap) =>
      splits.map((s, i) => {
        const when = new Date(s * 1000);
        const midnight = when.getHours() + when.getMinutes() === 0;
        return gap >= 86_400 || (midnight && i > 0) ? DAY.format(when) : TIME.format(when);
      }),
  };
}

// Bytes are counted by powers of two, so that an axis says 32 GiB and not 29.8 GiB; between no and yes is nothing.
const STEPS: Record<string, number[]> = {
  bytes: Array.from({ length: 60 }, (_, power) => 2 ** power),
  bool: [1],
};

function valueAxis(now: () => Shown): uPlot.Axis {
  const incrs = STEPS[now().panel.unit];
  return {
    ...look(),
    ...(incrs ? { incrs } : {}),
    size: (_plot, values) => 12 + Math.max(...(values ?? []).map((text) => text.length), 2) * 6.2,
    space: 28,
    values: (_plot, splits) =>
      splits.map((value) => formatValue(value, now().panel.unit).replace(".0%", "%")),
  };
}

/** Tell which stretch of time was drawn over with the pointer. */
export function zoomTo(plot: uPlot, zoom: (from: number, to: number) => void): void {
  if (plot.select.width < 4) return;
  const from = plot.posToVal(plot.select.left, "x") * 1000;
  const to = plot.posToVal(plot.select.left + plot.select.width, "x") * 1000;
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  zoom(Math.round(from), Math.round(to));
}

/** Draw a chart into an element. */
export function plot(
  into: HTMLElement,
  width: number,
  first: Shown,
  told: { cursor: (index: number | null) => void; zoom: (from: number, to: number) => void },
): Plotted {
  let shown = first;
  const now = () => shown;
  const uplot = new uPlot(
    {
      width,
      height: first.height,
      padding: [6, 16, 0, 0],
      legend: { show: false },
      cursor: {
        sync: { key: "page", setSeries: false },
        drag: { x: true, y: false, setScale: false },
        points: { size: 5 },
        y: false,
      },
      scales: {
        x: { time: true, range: () => [shown.range.from / 1000, shown.range.to / 1000] },
        y: { range: scaleOf(now) },
      },
      series: seriesOf(first),
      bands: bandsOf(first),
      axes: [timeAxis(24), valueAxis(now)],
      hooks: {
        drawClear: [
          (self) => drawAbsence(self, shown.drawing.times, shown.drawing.lines, shown.range),
          (self) => drawStates(self, shown.drawing.times, shown.drawing.lines),
        ],
        draw: [
          (self) => drawThresholds(self, shown.panel.thresholds),
          (self) => drawMarks(self, shown.range, shown.events),
        ],
        setCursor: [(self) => told.cursor(self.cursor.left! < 0 ? null : (self.cursor.idx ?? null))],
        setSelect: [(self) => zoomTo(self, told.zoom)],
      },
    },
    dataOf(first),
    into,
  );
  return {
    uplot,
    show: (next) => {
      shown = next;
      uplot.setData(dataOf(next));
    },
  };
}

/** Return what makes a chart another one, not the same with newer numbers. */
export function shapeOf({ panel, drawing }: Shown): string {
  const names = drawing.lines.map(({ name, odd }) => `${name}${odd ? "!" : ""}`);
  return JSON.stringify([panel.title, panel.unit, names, drawing.stacked, drawing.bands.length]);
}
