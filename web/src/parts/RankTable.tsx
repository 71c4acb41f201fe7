// A job's ranks, the oddest first: each value is shaded by its distance from the job's median.
import { useState } from "preact/hooks";
import type { RankRow } from "../lib/types";
import { formatValue } from "../lib/units";
import { link, path } from "../lib/url";

const MEASURES = ["sm", "tensor", "memory", "power", "clock", "nvlink", "infiniband", "cpu"] as const;
const REPORTED = ["loss", "step_seconds", "samples_per_second", "mfu"] as const; // by the job itself
type Measure = (typeof MEASURES)[number] | (typeof REPORTED)[number];

const FIRST_ROWS = 12; // rows before "show all"
const FORMS: Record<Measure, { label: string; unit: string }> = {
  sm: { label: "SM", unit: "ratio" },
  tensor: { label: "Tensor", unit: "ratio" },
  memory: { label: "Memory", unit: "ratio" },
  power: { label: "Power", unit: "watts" },
  clock: { label: "Clock", unit: "hertz" },
  nvlink: { label: "NVLink", unit: "bytes/s" },
  infiniband: { label: "InfiniBand", unit: "bytes/s" },
  cpu: { label: "CPU", unit: "ratio" },
  loss: { label: "Loss", unit: "" },
  step_seconds: { label: "Step time", unit: "seconds" },
  samples_per_second: { label: "Samples/s", unit: "count" },
  mfu: { label: "MFU", unit: "ratio" },
};
type Medians = Record<string, number | null>;

export function RankTable({ ranks, medians }: { ranks: RankRow[]; medians: Medians }) {
  const [all, setAll] = useState(false);
  const sorted = [...ranks].sort((a, b) => b.oddness - a.oddness || a.rank - b.rank);
  const shown = all ? sorted : sorted.slice(0, FIRST_ROWS);
  const reported = REPORTED.filter((measure) => (medians[measure] ?? null) !== null);
  const measures = [...MEASURES, ...reported];
  return (
    <>
      <div class="scroll">
        <table class="table ranks">
          <thead>
            <tr>
              <th class="right">Rank</th>
              <th>GPU</th>
              {measures.map((measure) => (
                <th key={measure} class="right">
                  {FORMS[measure].label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((rank) => (
              <Row key={`${rank.node}:${rank.gpu}`} rank={rank} measures={measures} medians={medians} />
            ))}
            <MedianRow measures={measures} medians={medians} />
          </tbody>
        </table>
      </div>
      {ranks.length > shown.length && (
        <button type="button" class="button below" onClick={() => setAll(true)}>
          Show all {ranks.length} ranks
        </button>
      )}
    </>
  );
}

function Row({ rank, measures, medians }: { rank: RankRow; measures: Measure[]; medians: Medians }) {
  return (
    <tr>
      <td class="right">{rank.rank ?? "–"}</td>
      <td>
        <a href={link(path("gpu", rank.node, rank.gpu))}>
          {rank.node}:{rank.gpu}
        </a>
      </td>
      {measures.map((measure) => (
        <Value key={measure} rank={rank} measure={measure} median={medians[measure] ?? null} />
      ))}
    </tr>
  );
}

function Value({ rank, measure, median }: { rank: RankRow; measure: Measure; median: number | null }) {
  const value = rank[measure];
  const { unit } = FORMS[measure];
  if (value === null) return <td class="right hatched" title="no source gives this here" />;
  const odd = rank.odd.includes(measure);
  const far = distance(value, median);
  return (
    <td
      class={`right shade${odd ? " odd" : ""}`}
      style={{ "--far": String(far) }}
      title={`the job's median is ${formatValue(median, unit)}`}
    >
      {formatValue(value, unit)}
    </td>
  );
}

/** Return how far a value is from the median, as 0 (at it) to 1 (half of it or more away). */
function distance(value: number, median: number | null): number {
  if (median === null) return 0;
  const whole = Math.max(Math.abs(median), Math.abs(value));
  return whole === 0 ? 0 : Math.min(1, (2 * Math.abs(value - median)) / whole);
}

function MedianRow({ measures, medians }: { measures: Measure[]; medians: Medians }) {
  return (
    <tr class="median">
      <td />
      <td>median of the job</td>
      {measures.map((measure) => (
        <td key={measure} class="right">
          {formatValue(medians[measure] ?? null, FORMS[measure].unit)}
        </td>
      ))}
    </tr>
  );
}
