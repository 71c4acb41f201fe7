// A strip on the time axis of the charts: same range, cursor, zoom and ticks; what stands in it is the caller's.
import uPlot from "uplot";
import { drawMarks, timeAxis, zoomTo } from "./plot";
import type { Range } from "./time";
import type { EventRow } from "./types";

export interface Strip {
  times: number[]; // seconds
  height: number; // of what is drawn, without the axis and the ticks
  gutter: number; // pixels left of it, for names
  range: Range;
  events: EventRow[];
  draw: (plot: uPlot) => void;
}

const AXIS = 24;
export const TICKS = 9; // pixels above, in which the ticks of events stand
export const AROUND = TICKS + AXIS; // pixels above and below what is drawn
export const RIGHT = 16; // pixels, in which half of the last time stands

/** Draw a strip into an element. */
export function strip(
  into: HTMLElement,
  width: number,
  shown: Strip,
  told: { cursor: (plot: uPlot) => void; zoom: (from: number, to: number) => void },
): uPlot {
  const nothing = shown.times.map(() => null);
  return new uPlot(
    {
      width,
      height: shown.height + AROUND,
      padding: [TICKS, RIGHT, 0, 0],
      legend: { show: false },
      cursor: {
        sync: { key: "page", setSeries: false },
        drag: { x: true, y: false, setScale: false },
        y: false,
        points: { show: false },
      },
      scales: {
        x: { time: true, range: () => [shown.range.from / 1000, shown.range.to / 1000] },
        y: { range: [0, 1] },
      },
      series: [{}, { stroke: "transparent" }],
      axes: [
        timeAxis(AXIS),
        { size: shown.gutter, values: () => [], grid: { show: false }, ticks: { show: false } },
      ],
      hooks: {
        drawClear: [shown.draw],
        draw: [(plot) => drawMarks(plot, shown.range, shown.events, TICKS)],
        setCursor: [told.cursor],
        setSelect: [(plot) => zoomTo(plot, told.zoom)],
      },
    },
    [shown.times, nothing],
    into,
  );
}
