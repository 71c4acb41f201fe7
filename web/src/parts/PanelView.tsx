// A panel by its kind: over time, or as it stands at the end of the range.
import { useRef } from "preact/hooks";
import { useVisible } from "../lib/element_size";
import { stepFor } from "../lib/prom";
import { useSamples } from "../lib/samples";
import type { Panel } from "../lib/types";
import { fillVariables } from "../lib/variables";
import { Bars } from "./Bars";
import { Chart, type ChartProps, Nothing } from "./Chart";
import { HeatmapPanel } from "./HeatmapPanel";
import { NumberPanel } from "./NumberPanel";
import { PanelFrame } from "./PanelFrame";
import { SampleTable } from "./SampleTable";

export function PanelView(props: ChartProps) {
  const { kind } = props.panel;
  if (kind === "heat") return <HeatmapPanel {...props} />;
  return kind === "lines" || kind === "band" ? <Chart {...props} /> : <Standing {...props} />;
}

const HEIGHTS: Partial<Record<Panel["kind"], number>> = { number: 60 };

function Standing({ panel, values, range }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const seen = useVisible(box);
  const step = stepFor(range.from, range.to, 600);
  const queries = panel.queries.map(({ promql }) => fillVariables(promql, values, step, range));
  const at = range.at ?? range.to;
  const { samples, error } = useSamples(seen && at ? queries : null, at);
  const some = samples?.some((one) => one.length) ? samples : null;
  return (
    <PanelFrame panel={panel} queries={queries}>
      <div ref={box} class={`standing as-${panel.kind}`}>
        {!some && (
          <Nothing panel={panel} asked={samples !== null} error={error} height={HEIGHTS[panel.kind] ?? 120} />
        )}
        {some && panel.kind === "number" && <NumberPanel panel={panel} samples={some} />}
        {some && panel.kind === "bars" && <Bars panel={panel} samples={some} />}
        {some && panel.kind === "table" && <SampleTable panel={panel} samples={some} />}
      </div>
    </PanelFrame>
  );
}
