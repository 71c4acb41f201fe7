// Rows of values over time in shades, what they mean, and the value under the pointer.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { gutterOf, type HeatRow, heatPainter, heightOf, type Shades } from "../lib/heatmap";
import { useStore } from "../lib/store";
import { RIGHT, strip } from "../lib/strip";
import { theme } from "../lib/theme";
import { exact, type Range } from "../lib/time";
import type { EventRow } from "../lib/types";
import { formatValue } from "../lib/units";
import { go, here, link } from "../lib/url";

interface Under {
  row: HeatRow;
  index: number;
  left: number;
  top: number;
}

export interface HeatProps {
  label: string;
  rows: HeatRow[];
  times: number[]; // seconds
  shades: Shades;
  unit: string;
  width: number;
  range: Range;
  events: EventRow[];
}

export function Heatmap({ label, rows, times, shades, unit, width, range, events }: HeatProps) {
  const box = useRef<HTMLDivElement>(null);
  const [under, setUnder] = useState<Under | null>(null);
  const look = useStore(theme);
  const height = heightOf(rows.length);
  const gutter = gutterOf(rows);
  const draw = useMemo(() => heatPainter(rows, times, shades), [rows, times]);
  useEffect(() => {
    const find = (plot: uPlot) => setUnder(cellUnder(plot, rows, height));
    const zoom = (from: number, to: number) => go(here({ from, to, at: null }));
    const shown = { times, height, gutter, range, events, draw };
    const made = strip(box.current!, width, shown, { cursor: find, zoom });
    return () => made.destroy();
  }, [draw, width, look, range.from, range.to, range.at, events]);
  const open = () => {
    if (under?.row.to) go(link(under.row.to, { at: Math.round(times[under.index]! * 1000) }));
  };
  const scale = `${formatValue(shades.low, unit)} to ${formatValue(shades.high, unit)}`;
  return (
    <>
      <div class="heat-plot">
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: tables and lists lead to the same by keyboard */}
        <div
          ref={box}
          class={under?.row.to ? "leads" : ""}
          role="img"
          aria-label={`${label}: ${rows.length} rows, shades from ${scale}`}
          onClick={open}
        />
        {under && <Tip under={under} time={times[under.index]!} unit={unit} room={width - gutter - RIGHT} />}
      </div>
      <p class="heat-legend">
        <span>
          <span class="tone ramp" aria-hidden="true" />
          {scale}
        </span>
        <span>
          <span class="tone hatched" aria-hidden="true" />
          nothing measured
        </span>
        {shades.thresholds.map(({ state, value, below }) => (
          <span key={state}>
            <span class={`tone ${state}`} aria-hidden="true" />
            {`${below ? "at most" : "from"} ${formatValue(value, unit)}`}
          </span>
        ))}
      </p>
    </>
  );
}

/** What is under the pointer, beside it: to its right while there is room. */
function Tip({ under, time, unit, room }: { under: Under; time: number; unit: string; room: number }) {
  const { row, index, left, top } = under;
  const value = row.values[index] ?? null;
  const gutter = { "--x": `${left}px`, "--y": `${top}px` };
  return (
    <div class={`heat-tip ${left > room / 2 ? "before" : ""}`} style={gutter}>
      <b>{value === null ? "nothing measured" : formatValue(value, unit)}</b>
      <span>{row.name}</span>
      <time>{exact(time * 1000)}</time>
    </div>
  );
}

function cellUnder(plot: uPlot, rows: HeatRow[], height: number): Under | null {
  const { left = -1, top = -1, idx } = plot.cursor;
  const row = rows[Math.floor((top / height) * rows.length)];
  const pointed = plot.over.matches(":hover"); // the cursor of another chart is here, too
  if (!pointed || left < 0 || top < 0 || idx == null || !row) return null;
  return { row, index: idx, left: left + plot.over.offsetLeft, top: top + plot.over.offsetTop };
}
