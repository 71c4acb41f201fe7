// A panel over time: title, why to look, the lines, and their names with the values under the cursor.
import { useEffect, useRef, useState } from "preact/hooks";
import { useVisible, useWidth } from "../lib/element_size";
import { useFresh } from "../lib/heartbeat";
import { type Band, drawingOf, type Line } from "../lib/lines";
import { useMatrices } from "../lib/matrices";
import { HEIGHT, type Plotted, plot, ranks, type Shown, shapeOf, strokeOf } from "../lib/plot";
import { stepFor } from "../lib/prom";
import { useStore } from "../lib/store";
import { theme } from "../lib/theme";
import { exact, type Range } from "../lib/time";
import type { EventRow, Panel, Threshold } from "../lib/types";
import { between, formatValue } from "../lib/units";
import { go, here } from "../lib/url";
import { fillVariables, type Values } from "../lib/variables";
import { Absent } from "./Absent";
import { Commands } from "./Commands";
import { PanelFrame } from "./PanelFrame";

export interface ChartProps {
  panel: Panel;
  values: Values;
  range: Range;
  events?: EventRow[];
}

const RATE = /\b(?:i?rate|increase|i?delta|deriv)\s*\(/;
const NEAR = 4; // pixels between the cursor and an event that it tells

export function Chart(props: ChartProps) {
  const { panel, values, range } = props;
  const step = stepFor(range.from, range.to, 600);
  return (
    <PanelFrame
      panel={panel}
      queries={panel.queries.map(({ promql }) => fillVariables(promql, values, step, range))}
    >
      <Graph {...props} />
    </PanelFrame>
  );
}

/** The lines of a panel with their names, without what stands around them. */
export function Graph({
  panel,
  values,
  range,
  events = [],
  height = HEIGHT,
}: ChartProps & { height?: number }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const seen = useVisible(box);
  const step = stepFor(range.from, range.to, width || 600);
  const queries = panel.queries.map(({ promql }) => fillVariables(promql, values, step, range));
  const { matrices, error } = useMatrices(
    seen && width && range.to ? queries : null,
    range.from,
    range.to,
    step,
  );
  const drawing = matrices && drawingOf(panel, matrices);
  return (
    <div ref={box} class="plotbox" style={{ minHeight: `${height}px` }}>
      {drawing?.lines.length && width > 0 ? (
        <Plot shown={{ panel, drawing, range, events, height }} width={width} />
      ) : (
        <Nothing panel={panel} asked={drawing !== null} error={error} height={height} />
      )}
    </div>
  );
}

/** Why there is nothing to draw. */
export function Nothing({
  panel,
  asked,
  error,
  height = HEIGHT,
}: {
  panel: Panel;
  asked: boolean;
  error: Error | null;
  height?: number;
}) {
  const fresh = useFresh();
  if (error) return <Absent height={height}>{`The question failed: ${error.message}`}</Absent>;
  if (!asked)
    return (
      <div class="waiting" style={{ minHeight: `${height}px` }} aria-busy="true">
        Asking
      </div>
    );
  const [needs, good] = panel.needs.split("; ");
  const source = needs && needs !== "nothing" ? needs : "";
  const hint = source && ` It needs ${source}.`;
  const yet = panel.queries.some(({ promql }) => RATE.test(promql))
    ? "Not yet measured: it takes two readings."
    : "Not yet measured.";
  const none = good
    ? `None in this time, as it should be${source && `: ${source} would tell`}.`
    : `Nothing was measured in this time.${hint}`;
  return (
    <Absent height={height}>
      <Commands text={fresh ? `${yet}${hint}` : none} />
    </Absent>
  );
}

function Plot({ shown, width }: { shown: Shown; width: number }) {
  const box = useRef<HTMLDivElement>(null);
  const drawn = useRef<Plotted | null>(null);
  const [index, setIndex] = useState<number | null>(null);
  const look = useStore(theme);
  const shape = shapeOf(shown);
  useEffect(() => {
    const made = plot(box.current!, width, shown, {
      cursor: setIndex,
      zoom: (from, to) => go(here({ from, to, at: null })),
    });
    drawn.current = made;
    return () => made.uplot.destroy();
  }, [shape, width, look]);
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) drawn.current?.show(shown);
    first.current = false;
  }, [shown.drawing.times, shown.drawing.lines[0]?.values, shown.range.from, shown.range.to, shown.events]);
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the zoom buttons of the time range do the same by keyboard */}
      <div ref={box} onDblClick={() => zoomOut(shown.range)} />
      <Legend shown={shown} index={index} width={width} />
    </>
  );
}

function zoomOut({ from, to }: Range): void {
  const half = (to - from) / 2;
  go(here({ from: Math.round(from - half), to: Math.round(to + half), at: null }));
}

function Legend({ shown, index, width }: { shown: Shown; index: number | null; width: number }) {
  const { panel, drawing, events, range } = shown;
  const order = ranks(drawing);
  const time = index === null ? null : drawing.times[index];
  const near = ((range.to - range.from) / width) * NEAR;
  const event =
    time === null || time === undefined
      ? null
      : events.find((e) => Math.abs(e.begin_ms - time * 1000) < near);
  return (
    <div class="legend">
      <ul>
        {drawing.lines.slice(0, 8).map((line, i) => {
          const value = valueAt(line.values, index);
          return (
            <li key={line.name} class={reached(value, panel.thresholds)}>
              <Swatch rank={order[i]!} line={line} solid={drawing.stacked} />
              <span class="name" title={line.name}>
                {line.name}
              </span>
              <span class="value">{formatValue(value, panel.unit)}</span>
              {line.band && bandAt(line.band, index, panel.unit)}
            </li>
          );
        })}
        {drawing.lines.length > 8 && <li>{drawing.lines.length - 8} more</li>}
      </ul>
      {time && <time class="when">{exact(time * 1000)}</time>}
      {event && <p class="event">{event.node ? `${event.node}: ${event.what}` : event.what}</p>}
    </div>
  );
}

function Swatch({ rank, line, solid }: { rank: number; line: Line; solid: boolean }) {
  const { tone, dash } = strokeOf(rank, line);
  return (
    <svg class={`swatch ${tone}`} viewBox="0 0 14 4" aria-hidden="true">
      <line x1="0" x2="14" y1="2" y2="2" stroke-dasharray={solid ? "" : dash.join(" ")} />
    </svg>
  );
}

/** Between which values all of those lie whose median a line is. */
function bandAt({ low, high }: Band, index: number | null, unit: string) {
  return (
    <span class="between">
      <span class="swatch band" aria-hidden="true" />
      <span class="aside">{between(valueAt(low, index), valueAt(high, index), unit)}</span>
    </span>
  );
}

const LATE = 0.05; // of the chart's width: what ended longer ago is no value of now

/** Return the value under the cursor, or the newest. */
function valueAt(values: (number | null)[], index: number | null): number | null {
  if (index !== null) return values[index] ?? null;
  const last = values.findLastIndex((value) => value !== null);
  return values.length - 1 - last > LATE * values.length ? null : (values[last] ?? null);
}

/** Return the state of the worst threshold that a value has reached. */
export function reached(value: number | null, thresholds: Threshold[]): string {
  if (value === null) return "";
  const those = thresholds.filter((t) => (t.below ? value <= t.value : value >= t.value));
  return those.some(({ state }) => state === "critical") ? "critical" : (those[0]?.state ?? "");
}
