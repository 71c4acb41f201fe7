// The map: a cell is a GPU, a tile a node; hovering lights the whole job, a click or Enter opens what is there.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useWidth } from "../lib/element_size";
import { COLOURS, type Colouring, GROUPS, type Grouping, layout, type Spot } from "../lib/gpu_map";
import { beside, draw, hit, light } from "../lib/map_canvas";
import { useStore } from "../lib/store";
import { theme } from "../lib/theme";
import type { ClusterNode, GpuCell } from "../lib/types";
import { formatValue } from "../lib/units";
import { go, here, link, path, usePlace } from "../lib/url";
import { MapLegend } from "./MapLegend";
import { Select } from "./Select";

const ARROWS: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

export function GpuMap({ nodes, job = null }: { nodes: ClusterNode[]; job?: string | null }) {
  const { query } = usePlace();
  const by = known(query.get("group"), GROUPS, "partition");
  const tint = known(query.get("colour"), COLOURS, "working");
  const gpus = nodes.some(({ cells }) => cells.length);
  return (
    <div class="map">
      <div class="controls">
        <Select
          label="Grouped by"
          options={GROUPS}
          value={by}
          choose={(group) => go(here({ group }), true)}
        />
        {gpus && (
          <Select
            label="Coloured by"
            options={COLOURS}
            value={tint}
            choose={(colour) => go(here({ colour }), true)}
          />
        )}
        <MapLegend by={gpus ? tint : "cpu"} />
      </div>
      <Cells nodes={nodes} by={by} tint={tint} job={job} />
    </div>
  );
}

function known<T extends string>(text: string | null, of: Record<T, string>, otherwise: T): T {
  return text !== null && text in of ? (text as T) : otherwise;
}

/** The cells alone. */
function Cells({
  nodes,
  by,
  tint,
  job,
}: {
  nodes: ClusterNode[];
  by: Grouping;
  tint: Colouring;
  job: string | null;
}) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const above = useRef<HTMLCanvasElement>(null);
  const width = useWidth(box);
  const look = useStore(theme);
  const made = useMemo(() => (width ? layout(nodes, by, width) : null), [nodes, by, width]);
  const [chosen, setChosen] = useState<number | null>(null);
  const spot = made && chosen !== null ? (made.spots[chosen] ?? null) : null;
  const lit = job ?? spot?.cell?.holder?.id ?? null;
  useEffect(() => {
    if (made && canvas.current) draw(canvas.current, made, tint, width);
  }, [made, tint, width, look]);
  useEffect(() => {
    if (made && above.current) light(above.current, made, tint, { spot: chosen, job: lit }, width);
  }, [made, tint, chosen, lit, width, look]);
  const size = { width: `${width}px`, height: `${made?.height ?? 1}px` };
  const at = (event: MouseEvent) =>
    made ? hit(made, event.offsetX, event.offsetY) : { spot: null, tile: null };
  const click = (event: MouseEvent) => {
    const found = at(event);
    if (found.spot !== null) open(made!.spots[found.spot]!);
    else if (found.tile !== null) go(link(path("node", made!.tiles[found.tile]!.node.name)));
  };
  const key = (event: KeyboardEvent) => {
    const arrow = ARROWS[event.key];
    if (!made?.spots.length) return;
    if (arrow) setChosen(chosen === null ? 0 : beside(made, chosen, ...arrow));
    else if (event.key === "Enter" && spot) open(spot);
    else if (event.key === "Escape") setChosen(null);
    else return;
    event.preventDefault();
  };
  const move = (event: MouseEvent) => {
    const found = at(event);
    setChosen(found.spot);
    if (canvas.current)
      canvas.current.style.cursor = found.spot !== null || found.tile !== null ? "pointer" : "";
  };
  return (
    <div ref={box} class="cells">
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: arrows and Enter are its own */}
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-label="Map of the GPUs: arrows move, Enter opens"
        style={size}
        onMouseMove={move}
        onMouseLeave={() => setChosen(null)}
        onClick={click}
        onKeyDown={key}
        onBlur={() => setChosen(null)}
      />
      <canvas ref={above} class="above" style={size} />
      <div class="hint" aria-live="polite">
        {spot && <Hint spot={spot} width={width} />}
      </div>
    </div>
  );
}

function open({ node, cell }: Spot): void {
  go(link(cell ? path("gpu", node.name, cell.gpu) : path("node", node.name)));
}

function Hint({ spot, width }: { spot: Spot; width: number }) {
  const { node, cell } = spot;
  const right = spot.x > width / 2;
  const place = {
    top: `${spot.y + spot.size + 8}px`,
    ...(right ? { right: `${width - spot.x - spot.width}px` } : { left: `${spot.x}px` }),
  };
  return (
    <div class="hintbox" style={place}>
      <strong>{cell ? `${node.name}:${cell.gpu}` : node.name}</strong>
      {cell ? (
        <Facts cell={cell} />
      ) : (
        <p>{`CPU ${formatValue(node.cpu, "ratio")}, memory ${formatValue(node.memory, "ratio")}`}</p>
      )}
      {(cell?.why || node.why) && <p class="trouble">{cell?.why || node.why}</p>}
    </div>
  );
}

function Facts({ cell }: { cell: GpuCell }) {
  const { holder } = cell;
  const who = holder ? `${holder.name || holder.id} of ${holder.user || "nobody known"}` : "free";
  return (
    <>
      <p>
        {who}
        {holder && cell.working === false && ", held but idle"}
      </p>
      <p class="facts">
        busy {formatValue(cell.busy, "ratio")} · SM {formatValue(cell.sm, "ratio")} · memory{" "}
        {formatValue(cell.memory, "ratio")} · {formatValue(cell.power, "watts")} ·{" "}
        {formatValue(cell.temperature, "celsius")}
      </p>
      <p class="facts">{cell.model}</p>
    </>
  );
}
