// Is this node healthy, who is on it, what limits it?
import { usePage } from "../lib/api";
import { useDashboard } from "../lib/dashboards";
import type { NodePage, NodesPage, SourceRow } from "../lib/types";
import { formatValue } from "../lib/units";
import { link, path } from "../lib/url";
import { pattern } from "../lib/variables";
import { Waiting } from "../parts/Absent";
import { Charts } from "../parts/Charts";
import { Happenings } from "../parts/EventTable";
import { plainFact } from "../parts/Facts";
import { GpuCards } from "../parts/GpuCards";
import { Inventory } from "../parts/Inventory";
import { NodeHolderLists } from "../parts/NodeHolderLists";
import { NodeState } from "../parts/NodeState";
import { NoGpu } from "../parts/NoGpu";
import { type Fact, PageHeader } from "../parts/PageHeader";
import { PageSummary } from "../parts/PageSummary";
import { Sources } from "../parts/Sources";
import { Tabs, useTab } from "../parts/Tabs";

const CHARTS = "page-node";

export default function Node({ parts }: { parts: string[] }) {
  const name = parts[0] ?? "";
  const { data, error } = usePage<NodePage>(`nodes/${encodeURIComponent(name)}`);
  useDashboard(CHARTS);
  if (!data) return <Waiting error={error} what={`Node ${name}`} />;
  return (
    <div class="page node">
      <PageHeader kind="Node" title={name} command={`vigie who --node ${name}`} facts={factsOf(data)} />
      <PageSummary page={data} />
      {data.cells.length > 0 ? (
        <section class="card">
          <h2>GPUs</h2>
          <GpuCards cells={data.cells} />
        </section>
      ) : (
        <Alone sources={data.sources} />
      )}
      <section class="card">
        <h2>Who is on it</h2>
        <NodeHolderLists who={data.who} />
      </section>
      <Charts slug={CHARTS} fixed={{ node: pattern(name) }} about={{ node: name }} />
      <Below name={name} page={data} />
    </div>
  );
}

/** What to do without a GPU, unless other nodes have some: then it is nothing to wonder about. */
function Alone({ sources }: { sources: SourceRow[] }) {
  const { data } = usePage<NodesPage>("nodes");
  return data?.nodes.every(({ gpus }) => !gpus) ? <NoGpu sources={sources} /> : null;
}

function factsOf({ node }: NodePage): (Fact | null)[] {
  const { slurm, agent, labels } = node;
  return [
    { label: "state", value: <NodeState node={node} /> },
    slurm && plainFact("Slurm", slurm.reason ? `${slurm.state}: ${slurm.reason}` : slurm.state),
    plainFact("up for", node.uptime_seconds === null ? null : formatValue(node.uptime_seconds, "seconds")),
    plainFact("machine", node.model),
    plainFact("GPUs", node.gpu_model),
    plainFact("driver", node.driver),
    plainFact("kernel", node.kernel),
    plainFact("agent", cost(agent)),
    ...Object.entries(labels).map(([label, value]) => plainFact(label, value)),
  ];
}

function cost({ version, cpu_ratio, rss_bytes }: NodePage["node"]["agent"]): string {
  const parts = [
    version,
    cpu_ratio !== null && `${formatValue(cpu_ratio, "ratio")} of a core`,
    rss_bytes !== null && formatValue(rss_bytes, "bytes"),
  ];
  return parts.filter(Boolean).join(", ");
}

function Below({ name, page }: { name: string; page: NodePage }) {
  const troubled = page.sources.filter(({ state }) => state === "error" || state === "stale").length;
  const tabs = [
    { key: "events", label: "Events" },
    { key: "host", label: "Full host panels" },
    { key: "sources", label: troubled ? `Sources (${troubled} in trouble)` : "Sources" },
    { key: "inventory", label: "Inventory" },
  ];
  const tab = useTab(tabs);
  return (
    <Tabs tabs={tabs}>
      {tab === "events" && <Happenings asked={{ node: name }} />}
      {tab === "host" && <Host name={name} gpus={page.cells.length > 0} />}
      {tab === "sources" && <Sources sources={page.sources} />}
      {tab === "inventory" && <Inventory node={page.node} />}
    </Tabs>
  );
}

const HOST = "node";
const GPU = "gpu-node";

function Host({ name, gpus }: { name: string; gpus: boolean }) {
  const chosen = { "var-node": name };
  return (
    <>
      <p class="calm">
        <a href={link(path("dashboard", HOST), chosen)}>As a dashboard of its own</a>
        {gpus && (
          <>
            , and <a href={link(path("dashboard", GPU), chosen)}>its GPUs</a>
          </>
        )}
      </p>
      <Charts slug={HOST} fixed={{ node: pattern(name) }} about={{ node: name }} />
    </>
  );
}
