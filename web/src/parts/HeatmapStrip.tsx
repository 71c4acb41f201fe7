// A job's ranks over time, one row each, a measure at a time: a rank that goes its own way is seen at once.
import { useMemo, useRef } from "preact/hooks";
import { useVisible, useWidth } from "../lib/element_size";
import { type HeatRow, heightOf, shadesOf } from "../lib/heatmap";
import { useMatrices } from "../lib/matrices";
import { type Labels, stepFor } from "../lib/prom";
import { AROUND } from "../lib/strip";
import type { Range } from "../lib/time";
import type { Dashboard, EventRow } from "../lib/types";
import { go, here, path, usePlace } from "../lib/url";
import { fillVariables, type Values } from "../lib/variables";
import { Absent } from "./Absent";
import { Heatmap } from "./Heatmap";

const RANK = "{{instance}}:{{gpu}}"; // what the legend of a question about single ranks has

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

export function HeatmapStrip({
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
  events: EventRow[];
}) {
  const measures = measuresOf(dashboard);
  const chosen = usePlace().query.get("measure");
  const measure = measures.find(({ name }) => name === chosen) ?? measures[0];
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const seen = useVisible(box);
  const step = stepFor(range.from, range.to, (width || 900) / 3);
  const queries = measure ? [fillVariables(measure.promql, values, step, range)] : [];
  const { matrices, error } = useMatrices(
    seen && width && measure ? queries : null,
    range.from,
    range.to,
    step,
  );
  const matrix = matrices?.[0];
  const who = ranks.map(({ node, gpu, rank }) => `${rank} ${node}:${gpu}`).join();
  const rows = useMemo(() => (matrix ? rowsOf(matrix.series, ranks) : []), [matrix, who]);
  const shades = useMemo(() => shadesOf(rows), [rows]);
  if (!measure) return null;
  return (
    <section class="card">
      <div class="headline">
        <h2>Ranks over time</h2>
        <Measures measures={measures} chosen={measure} />
      </div>
      <div ref={box} class="heat" style={{ minHeight: `${heightOf(ranks.length) + AROUND}px` }}>
        {matrix && rows.length > 0 && width > 0 ? (
          <Heatmap
            label={`Ranks over time, ${measure.name}`}
            rows={rows}
            times={matrix.times}
            shades={shades}
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
    to: path("gpu", node, gpu),
    name: rank === null ? `${node}:${gpu}` : `${rank} ${node}:${gpu}`,
    values: found.get(`${node}:${gpu}`) ?? [],
  }));
}

function placeOf({ instance = "", gpu = "" }: Labels): Rankings {
  return { node: instance, gpu, rank: null };
}
