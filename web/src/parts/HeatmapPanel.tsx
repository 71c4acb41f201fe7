// A panel that shows many series as a heat map: who, when, how much, all at one glance.
import { useMemo, useRef } from "preact/hooks";
import { useVisible, useWidth } from "../lib/element_size";
import { type HeatRow, heightOf, shadesOf } from "../lib/heatmap";
import { useMatrices } from "../lib/matrices";
import { formatName, type Labels, type Matrix, stepFor } from "../lib/prom";
import type { Panel } from "../lib/types";
import { path } from "../lib/url";
import { fillVariables } from "../lib/variables";
import { type ChartProps, Nothing } from "./Chart";
import { Heatmap } from "./Heatmap";
import { PanelFrame } from "./PanelFrame";

const COLUMN = 3; // a cell is about so many times as wide as the points of a line are apart
const FEW = 8; // rows for which there is room from the beginning

export function HeatmapPanel({ panel, values, range, events = [] }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const seen = useVisible(box);
  const step = stepFor(range.from, range.to, (width || 600) / COLUMN);
  const queries = panel.queries.map(({ promql }) => fillVariables(promql, values, step, range));
  const asked = seen && width && range.to ? queries : null;
  const { matrices, error } = useMatrices(asked, range.from, range.to, step);
  const rows = useMemo(() => (matrices ? rowsOf(panel, matrices) : []), [panel, matrices]);
  const shades = useMemo(
    () => shadesOf(rows, panel.floor, panel.ceiling, panel.thresholds),
    [rows, panel.floor, panel.ceiling],
  );
  const times = matrices?.[0]?.times ?? [];
  const height = heightOf(FEW);
  return (
    <PanelFrame panel={panel} queries={queries}>
      <div ref={box} class="heat" style={{ minHeight: `${height}px` }}>
        {rows.length && width > 0 ? (
          <Heatmap
            label={panel.title}
            rows={rows}
            times={times}
            shades={shades}
            unit={panel.unit}
            width={width}
            range={range}
            events={events}
          />
        ) : (
          <Nothing panel={panel} asked={matrices !== null} error={error} height={height} />
        )}
      </div>
    </PanelFrame>
  );
}

function rowsOf(panel: Panel, matrices: Matrix[]): HeatRow[] {
  const rows = matrices.flatMap(({ series }, i) =>
    series.map(({ labels, values }) => ({
      name: formatName(labels, panel.queries[i]?.legend ?? ""),
      to: leadsTo(labels),
      values,
    })),
  );
  return rows.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

/** Return the page about what a series is of. */
function leadsTo({ instance, gpu }: Labels): string {
  if (!instance) return "";
  return gpu ? path("gpu", instance, gpu) : path("node", instance);
}
