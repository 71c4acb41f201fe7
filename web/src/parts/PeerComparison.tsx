// A GPU among others: each measure as a row of dots, the middle of the others, and where this one stands.
import type { GpuCell } from "../lib/types";
import { formatValue } from "../lib/units";
import { link, path } from "../lib/url";

interface Measured {
  label: string;
  unit: string;
  of: (cell: GpuCell) => number | null;
}

const MEASURES: Measured[] = [
  { label: "SM activity", unit: "ratio", of: (cell) => cell.sm },
  { label: "Busy", unit: "ratio", of: (cell) => cell.busy },
  { label: "Memory", unit: "bytes", of: (cell) => cell.memory_bytes },
  { label: "Power", unit: "watts", of: (cell) => cell.power },
  { label: "Temperature", unit: "celsius", of: (cell) => cell.temperature },
  { label: "Clock", unit: "hertz", of: (cell) => cell.clock },
];
const FAR = 0.15; // of the middle: a value so far from it stands out

export function PeerComparison({ cell, groups }: { cell: GpuCell; groups: [string, GpuCell[]][] }) {
  const shown = groups.filter(([, cells]) => cells.length);
  if (!shown.length) return <p class="calm">There is no other GPU to compare it with.</p>;
  return (
    <div class="scroll">
      <table class="table against">
        <thead>
          <tr>
            <th scope="col">Measure</th>
            <th scope="col" class="right">
              This one
            </th>
            {shown.map(([title, cells]) => (
              <th key={title} scope="col">{`${title} (${cells.length}), with their median`}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {MEASURES.map((measure) => (
            <Row key={measure.label} measure={measure} cell={cell} groups={shown} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ measure, cell, groups }: { measure: Measured; cell: GpuCell; groups: [string, GpuCell[]][] }) {
  const own = measure.of(cell);
  const all = [cell, ...groups.flatMap(([, cells]) => cells)]
    .map(measure.of)
    .filter((value) => value !== null);
  if (!all.length) return null;
  const most = Math.max(...all) * 1.05 || 1;
  return (
    <tr>
      <th scope="row">{measure.label}</th>
      <td class="right">{formatValue(own, measure.unit)}</td>
      {groups.map(([title, cells]) => (
        <td key={title}>
          <Dots own={own} cells={cells} measure={measure} most={most} alike={alike(cell, cells)} />
        </td>
      ))}
    </tr>
  );
}

function Dots({
  own,
  cells,
  measure,
  most,
  alike,
}: {
  own: number | null;
  cells: GpuCell[];
  measure: Measured;
  most: number;
  alike: boolean;
}) {
  const known = cells.map((cell) => ({ cell, value: measure.of(cell) })).filter((one) => one.value !== null);
  const middle = median(known.map(({ value }) => value!));
  const far =
    alike &&
    own !== null &&
    middle !== null &&
    Math.abs(own - middle) > FAR * Math.max(Math.abs(middle), 1e-9);
  const at = (value: number) => ({ left: `${(100 * value) / most}%` });
  return (
    <div class="dots">
      <span class="dots-line">
        {known.map(({ cell, value }) => (
          <a
            key={`${cell.node}:${cell.gpu}`}
            href={link(path("gpu", cell.node, cell.gpu))}
            style={at(value!)}
            title={`${cell.node}:${cell.gpu} ${formatValue(value, measure.unit)}`}
            tabIndex={-1}
          >
            <span class="unseen">{`${cell.node}:${cell.gpu}`}</span>
          </a>
        ))}
        {own !== null && <span class={far ? "own far" : "own"} style={at(own)} title="this one" />}
      </span>
      <span class="aside">{formatValue(middle, measure.unit)}</span>
    </div>
  );
}

/** Tell whether others do the same work, so that one should be as the others are. */
function alike({ holder }: GpuCell, cells: GpuCell[]): boolean {
  return holder !== null && cells.every((other) => other.holder?.id === holder.id);
}

function median(values: number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  if (!sorted.length) return null;
  return sorted.length % 2 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}
