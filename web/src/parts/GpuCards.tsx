// GPUs as cards: whose each is, what it does, and how it is.
import type { GpuCell } from "../lib/types";
import { formatValue } from "../lib/units";
import { link, path } from "../lib/url";
import { StateIcon } from "./StateIcon";

export function GpuCards({ cells, full = false }: { cells: GpuCell[]; full?: boolean }) {
  return (
    <ul class="tiles">
      {cells.map((cell) => (
        <li key={`${cell.node}:${cell.gpu}`} class={`tile health-${cell.health}`}>
          <a class="tile-name" href={link(path("gpu", cell.node, cell.gpu))}>
            {full ? `${cell.node}:${cell.gpu}` : `GPU ${cell.gpu}`}
          </a>
          {cell.health !== "ok" && <StateIcon state={cell.health} />}
          <HeldBy cell={cell} />
          {cell.health === "lost" ? <p class="tile-why">{cell.why}</p> : <Meters cell={cell} />}
          {cell.health !== "ok" && cell.health !== "lost" && <p class="tile-why">{cell.why}</p>}
        </li>
      ))}
    </ul>
  );
}

function HeldBy({ cell }: { cell: GpuCell }) {
  const { holder, mig } = cell;
  if (mig.length) {
    const held = mig.filter(({ holder }) => holder).length;
    return <span class="tile-holder">{`MIG: ${held} of ${mig.length} slices held`}</span>;
  }
  if (!holder)
    return <span class="tile-holder aside">{cell.health === "lost" ? "held by nobody" : "free"}</span>;
  const name = holder.name || holder.id;
  const where = holder.kind === "job" ? path("job", holder.id) : path("user", holder.user);
  return (
    <span class="tile-holder">
      <a href={link(where)}>{name}</a> <span class="aside">{holder.user}</span>
    </span>
  );
}

function Meters({ cell }: { cell: GpuCell }) {
  return (
    <dl class="meters">
      <Meter
        label={cell.sm === null ? "Busy" : "SM"}
        share={cell.sm ?? cell.busy}
        text={formatValue(cell.sm ?? cell.busy, "ratio")}
      />
      <Meter label="Memory" share={cell.memory} text={formatValue(cell.memory_bytes, "bytes")} />
      <Meter
        label="Power"
        share={ratio(cell.power, cell.power_limit)}
        text={formatValue(cell.power, "watts")}
      />
    </dl>
  );
}

function ratio(value: number | null, whole: number | null): number | null {
  return value === null || !whole ? null : value / whole;
}

export function Meter({ label, share, text }: { label: string; share: number | null; text: string }) {
  return (
    <div class="meter">
      <dt>{label}</dt>
      <dd>
        <span class={share === null ? "track hatched" : "track"}>
          {share !== null && <span style={{ width: `${100 * Math.min(1, Math.max(0, share))}%` }} />}
        </span>
        <span class="value">{text}</span>
      </dd>
    </div>
  );
}
