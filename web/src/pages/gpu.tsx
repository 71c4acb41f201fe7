// Is this GPU working, is it healthy, whose was it when?
import { useMemo } from "preact/hooks";
import { usePage } from "../lib/api";
import { useDashboard } from "../lib/dashboards";
import { useRange } from "../lib/heartbeat";
import type { GpuCell, GpuPage } from "../lib/types";
import { link, path } from "../lib/url";
import { pattern } from "../lib/variables";
import { Waiting } from "../parts/Absent";
import { Charts, useEvents } from "../parts/Charts";
import { plainFact } from "../parts/Facts";
import { GpuCards } from "../parts/GpuCards";
import { Health } from "../parts/Health";
import { type Fact, PageHeader } from "../parts/PageHeader";
import { PageSummary } from "../parts/PageSummary";
import { PeerComparison } from "../parts/PeerComparison";
import { Timeline } from "../parts/Timeline";

const CHARTS = "page-gpu";

export default function Gpu({ parts }: { parts: string[] }) {
  const [node = "", gpu = ""] = parts;
  const { data, error } = usePage<GpuPage>(`gpus/${path(node, gpu)}`);
  useDashboard(CHARTS);
  const range = useRange();
  const all = useEvents(range, { node });
  const events = useMemo(() => all.filter(({ where }) => (where.gpu ?? gpu) === gpu), [all, gpu]);
  if (!data) return <Waiting error={error} what={`GPU ${node}:${gpu}`} />;
  return (
    <div class="page gpu">
      <PageHeader
        kind="GPU"
        title={`${node}:${gpu}`}
        command={`vigie who --node ${node} --gpu ${gpu}`}
        facts={factsOf(data)}
      />
      <PageSummary page={data} />
      <section class="card">
        <h2>Whose it was when</h2>
        <Timeline holders={data.holders} range={range} events={events} />
      </section>
      <Charts slug={CHARTS} fixed={{ node: pattern(node), gpu: pattern(gpu) }} happened={events} />
      <section class="card">
        <h2>Health</h2>
        <Health health={data.health} />
      </section>
      <section class="card">
        <h2>Against the others</h2>
        <PeerComparison
          cell={data.cell}
          groups={[
            ["its siblings on the node", data.siblings],
            ["the other ranks of its job", data.ranks],
          ]}
        />
      </section>
      {data.siblings.length > 0 && (
        <section class="card">
          <h2>Its siblings</h2>
          <GpuCards cells={data.siblings} />
        </section>
      )}
    </div>
  );
}

function factsOf({ cell, info }: GpuPage): (Fact | null)[] {
  return [
    { label: "node", value: <a href={link(path("node", cell.node))}>{cell.node}</a> },
    plainFact("model", cell.model),
    plainFact("UUID", cell.uuid),
    plainFact("driver", String(info.driver ?? "")),
    plainFact("MIG", cell.mig.length ? cell.mig.map(({ profile }) => profile).join(", ") : null),
    holderFact(cell),
  ];
}

function holderFact({ holder }: GpuCell): Fact {
  if (!holder) return { label: "held by", value: "nobody" };
  const name = holder.name || holder.id;
  return {
    label: "held by",
    value: (
      <>
        {holder.kind === "job" ? <a href={link(path("job", holder.id))}>{name}</a> : `${holder.kind} ${name}`}
        {holder.user && (
          <>
            {" of "}
            <a href={link(path("user", holder.user))}>{holder.user}</a>
          </>
        )}
      </>
    ),
  };
}
