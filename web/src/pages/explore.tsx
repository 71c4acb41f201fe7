// Any question in PromQL: as a graph, and as a table.
import { useMemo } from "preact/hooks";
import { useRange } from "../lib/heartbeat";
import { stepFor } from "../lib/prom";
import { useSamples } from "../lib/samples";
import type { Panel } from "../lib/types";
import { formatValue, unitOf } from "../lib/units";
import { go, here, usePlace } from "../lib/url";
import { fillVariables } from "../lib/variables";
import { Absent } from "../parts/Absent";
import { Graph } from "../parts/Chart";
import { useEvents } from "../parts/Charts";
import { CopyAs } from "../parts/CopyAs";
import { PromBox } from "../parts/PromBox";
import { SampleTable } from "../parts/SampleTable";
import { Tabs, useTab } from "../parts/Tabs";

const EXAMPLES = [
  "avg by (instance) (vigie_gpu_busy_ratio)",
  "sum(vigie_gpu_power_watts)",
  'topk(5, rate(node_cpu_seconds_total{mode="iowait"}[$__rate_interval]))',
  "up == 0",
];

function panelOf(promql: string): Panel {
  const queries: Panel["queries"] = [{ promql, legend: "", unit: "", state: "" }];
  const rest = { thresholds: [], floor: null, ceiling: null, wide: true, needs: "", stack: false };
  return { title: "Answer", why: "", queries, unit: unitOf(promql), kind: "lines", ...rest };
}

export default function Explore() {
  const { query } = usePlace();
  const promql = query.get("query") ?? "";
  const run = (text: string) => go(here({ query: text.trim() }));
  return (
    <div class="page explore">
      <div class="opening">
        <h1>Explore</h1>
        {promql && <CopyAs command={`vigie query '${promql.replaceAll("'", "'\\''")}'`} />}
      </div>
      <PromBox text={promql} run={run} />
      {promql ? <Answer promql={promql} /> : <Examples run={run} />}
    </div>
  );
}

function Examples({ run }: { run: (text: string) => void }) {
  return (
    <ul class="examples" aria-label="Examples">
      {EXAMPLES.map((text) => (
        <li key={text}>
          <button type="button" class="button" onClick={() => run(text)}>
            <code>{text}</code>
          </button>
        </li>
      ))}
    </ul>
  );
}

const TABS = [
  { key: "graph", label: "Graph" },
  { key: "table", label: "Table" },
];

function Answer({ promql }: { promql: string }) {
  const table = useTab(TABS, "show") === "table";
  return (
    <Tabs tabs={TABS} name="show">
      {table ? <AsTable promql={promql} /> : <AsGraph promql={promql} />}
    </Tabs>
  );
}

function AsGraph({ promql }: { promql: string }) {
  const range = useRange();
  const panel = useMemo(() => panelOf(promql), [promql]);
  const events = useEvents(range);
  return <Graph panel={panel} values={{}} range={range} events={events} height={320} />;
}

function AsTable({ promql }: { promql: string }) {
  const range = useRange();
  const at = range.at ?? range.to;
  const asked = fillVariables(promql, {}, stepFor(range.from, range.to, 600), range);
  const { samples, error } = useSamples(at ? [asked] : null, at);
  if (error) return <Absent height={160}>{error.message}</Absent>;
  if (!samples) return <div class="waiting" />;
  const count = samples[0]?.length ?? 0;
  if (!count) return <Absent height={160}>Nothing answers to this at that moment.</Absent>;
  return (
    <>
      <p class="aside">{count === 1 ? "1 series" : `${formatValue(count, "count")} series`}</p>
      <SampleTable panel={panelOf(promql)} samples={samples} />
    </>
  );
}
