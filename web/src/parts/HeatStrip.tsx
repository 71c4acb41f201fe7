// A job's ranks over time, one row each, a measure at a time: a rank that goes its own way is seen at once.
import { useEffect, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { filled, type Values } from "../lib/dash";
import { type HeatRow, heatPainter, heightOf } from "../lib/heat";
import { useMatrices } from "../lib/matrix";
import { type Labels, stepFor } from "../lib/prom";
import { useSeen, useWidth } from "../lib/size";
import { useStore } from "../lib/store";
import { strip } from "../lib/strip";
import { theme } from "../lib/theme";
import { exact, type Range } from "../lib/time";
import type { Dashboard, Happening } from "../lib/types";
import { said } from "../lib/units";
import { go, here, link, path, usePlace } from "../lib/url";
import { Absent } from "./Absent";

const RANK = "{{instance}}:{{gpu}}"; // what the legend of a question about single ranks has
const GUTTER = 76;

export interface Rankings {
  node: string;
  gpu: string;
  rank: number | null;
}

interface Measured {
  name: string;
  promql: string;
  unit: string;
}

export function HeatStrip({
  dashboard,
  values,
  ranks,
  range,
  events,
}: {
  dashboard: Dashboard;
  values: Values;
  ranks: Rankings[];
  range: Range;
  events: Happening[];
}) {
  const measures = measuresOf(dashboard);
  const chosen = usePlace().query.get("measure");
  const measure = measures.find(({ name }) => name === chosen) ?? measures[0];
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const seen = useSeen(box);
  const step = stepFor(range.from, range.to, (width || 900) / 3);
  const queries = measure ? [filled(measure.promql, values, step, range)] : [];
  const { matrices, error } = useMatrices(
    seen && width && measure ? queries : null,
    range.from,
    range.to,
    step,
  );
  const matrix = matrices?.[0];
  const rows = matrix ? rowsOf(matrix.series, ranks) : [];
  if (!measure) return null;
  return (
    <section class="card">
      <div class="headline">
        <h2>Ranks over time</h2>
        <Measures measures={measures} chosen={measure} />
      </div>
      <div ref={box} class="heat" style={{ minHeight: `${heightOf(ranks.length) + 22}px` }}>
        {matrix && rows.length > 0 && width > 0 ? (
          <Heat
            rows={rows}
            times={matrix.times}
            unit={measure.unit}
            width={width}
            range={range}
            events={events}
          />
        ) : (
          matrices && <Absent height={80}>{why(error)}</Absent>
        )}
      </div>
    </section>
  );
}

function why(error: Error | null): string {
  return error ? `The question failed: ${error.message}` : "Nothing was measured of its GPUs in this time.";
}

function Measures({ measures, chosen }: { measures: Measured[]; chosen: Measured }) {
  return (
    <fieldset class="choices">
      <legend class="unseen">Measure</legend>
      {measures.map((measure) => (
        <button
          key={measure.name}
          type="button"
          aria-pressed={measure === chosen}
          onClick={() => go(here({ measure: measure.name }), true)}
        >
          {measure.name}
        </button>
      ))}
    </fieldset>
  );
}

/** Return what the dashboard of the page asks about single ranks. */
function measuresOf(dashboard: Dashboard): Measured[] {
  return dashboard.sections.flatMap(({ panels }) =>
    panels.flatMap(({ title, queries, unit }) =>
      queries
        .filter(({ legend }) => legend.endsWith(RANK))
        .map(({ legend, promql }) => ({
          name: legend.replace(RANK, "").trim() || short(title),
          promql,
          unit,
        })),
    ),
  );
}

function short(title: string): string {
  const word = title.replace(/^GPU /, "");
  return word[0]!.toLowerCase() + word.slice(1);
}

function rowsOf(series: { labels: Labels; values: (number | null)[] }[], ranks: Rankings[]): HeatRow[] {
  const found = new Map(series.map(({ labels, values }) => [`${labels.instance}:${labels.gpu}`, values]));
  const known = ranks.length ? ranks : series.map(({ labels }) => placeOf(labels));
  return known.map(({ node, gpu, rank }) => ({
    node,
    gpu,
    name: rank === null ? `${node}:${gpu}` : `${rank} ${node}:${gpu}`,
    values: found.get(`${node}:${gpu}`) ?? [],
  }));
}

function placeOf({ instance = "", gpu = "" }: Labels): Rankings {
  return { node: instance, gpu, rank: null };
}

function Heat({
  rows,
  times,
  unit,
  width,
  range,
  events,
}: {
  rows: HeatRow[];
  times: number[];
  unit: string;
  width: number;
  range: Range;
  events: Happening[];
}) {
  const box = useRef<HTMLDivElement>(null);
  const [under, setUnder] = useState<{ row: HeatRow; index: number } | null>(null);
  const look = useStore(theme);
  const height = heightOf(rows.length);
  const { draw, low, high } = heatPainter(rows, times);
  useEffect(() => {
    const find = (plot: uPlot) => setUnder(cellUnder(plot, rows, height));
    const shown = { times, height, gutter: GUTTER, range, events, draw };
    const zoom = (from: number, to: number) => go(here({ from, to, at: null }));
    const made = strip(box.current!, width, shown, { cursor: find, zoom });
    return () => made.destroy();
  }, [
    rows.map(({ name }) => name).join(),
    times,
    rows[0]?.values,
    width,
    look,
    range.from,
    range.to,
    events,
  ]);
  const open = () => {
    if (under)
      go(link(path("gpu", under.row.node, under.row.gpu), { at: Math.round(times[under.index]! * 1000) }));
  };
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the rank table above leads to the same by keyboard */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: as above */}
      <div ref={box} class="heat-plot" onClick={open} />
      <p class="heat-legend">
        <span class="tone ramp" aria-hidden="true" />
        {`${said(low, unit)} to ${said(high, unit)}`}
        {under && (
          <span class="under">
            {`${under.row.name}, ${exact(times[under.index]! * 1000)}: `}
            <b>{said(under.row.values[under.index] ?? null, unit)}</b>
          </span>
        )}
      </p>
    </>
  );
}

function cellUnder(plot: uPlot, rows: HeatRow[], height: number): { row: HeatRow; index: number } | null {
  const { left = -1, top = -1, idx } = plot.cursor;
  const row = rows[Math.floor((top / height) * rows.length)];
  return left < 0 || top < 0 || idx == null || !row ? null : { row, index: idx };
}
