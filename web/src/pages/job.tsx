// Does this job do useful work, which rank is odd, what happened?
import { useMemo } from "preact/hooks";
import { usePage } from "../lib/api";
import { useDashboard } from "../lib/dashboards";
import { useRange } from "../lib/heartbeat";
import type { EventRow, JobPage, JobRow } from "../lib/types";
import { pattern } from "../lib/variables";
import { Absent, Waiting } from "../parts/Absent";
import { Sections, useEvents } from "../parts/Charts";
import { EventTable } from "../parts/EventTable";
import { nodesFact, plainFact, timeFact, userFact } from "../parts/Facts";
import { HeatmapStrip } from "../parts/HeatmapStrip";
import { Ladder } from "../parts/Ladder";
import { LookInside } from "../parts/LookInside";
import { type Fact, PageHeader } from "../parts/PageHeader";
import { PageSummary } from "../parts/PageSummary";
import { Processes } from "../parts/Processes";
import { RankTable } from "../parts/RankTable";
import { Receipt } from "../parts/Receipt";
import { Tabs, useTab } from "../parts/Tabs";

const CHARTS = "page-job";
const TABS = [
  { key: "processes", label: "Processes and containers" },
  { key: "events", label: "Events on its nodes" },
  { key: "receipt", label: "Receipt" },
];

export default function Job({ parts }: { parts: string[] }) {
  const id = parts[0] ?? "";
  const { data, error } = usePage<JobPage>(`jobs/${encodeURIComponent(id)}`);
  useDashboard(CHARTS);
  if (!data) return <Waiting error={error} what={`Job ${id}`} />;
  const { job } = data;
  return (
    <div class="page job">
      <PageHeader
        kind="Job"
        title={job.name || job.id}
        command={`vigie jobs --job ${job.id} --state all`}
        facts={factsOf(job, data.at_ms)}
      />
      {job.state === "running" && <LookInside job={job.id} gpus={job.gpus.length} />}
      <PageSummary page={data} />
      {job.state === "waiting" ? <Waits page={data} /> : <Works page={data} />}
    </div>
  );
}

function factsOf(job: JobRow, at: number): (Fact | null)[] {
  return [
    plainFact("id", job.id),
    userFact(job.user),
    plainFact("account", job.account),
    plainFact("partition", job.partition),
    plainFact("state", job.reason ? `${job.state} (${job.reason})` : job.state),
    plainFact("array task", job.array),
    plainFact("restarts", job.restarts ? String(job.restarts) : ""),
    timeFact("started", job.start_ms, at),
    timeFact("ended", job.end_ms, at),
    nodesFact(job.nodes),
    plainFact("GPUs", job.gpus.length ? String(job.gpus.length) : null),
  ];
}

function Waits({ page: { job } }: { page: JobPage }) {
  return (
    <Absent height={100}>
      {`It has not started, so there is nothing to measure. The scheduler says: ${[job.reason || "no reason", job.why].filter(Boolean).join(", ")}.`}
    </Absent>
  );
}

function Works({ page }: { page: JobPage }) {
  const { job, ladder, ranks, medians, missing } = page;
  const events = useEventsOn(job.nodes);
  return (
    <>
      {missing ? (
        <Absent>{`There is no ladder and no rank to compare: ${missing}.`}</Absent>
      ) : (
        <>
          <section class="card">
            <h2>From held to useful</h2>
            <Ladder steps={ladder} />
          </section>
          <section class="card">
            <h2>Ranks, the oddest first</h2>
            <RankTable ranks={ranks} medians={medians} />
          </section>
        </>
      )}
      <OverTime page={page} events={events} />
      <Below page={page} events={events} />
    </>
  );
}

function OverTime({ page: { job, ranks }, events }: { page: JobPage; events: EventRow[] }) {
  const range = useRange();
  const { data: dashboard, error } = useDashboard(CHARTS);
  const values = { job: pattern(job.id) };
  if (!dashboard) return <Waiting error={error} what="The charts" />;
  const ordered = [...ranks].sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0));
  return (
    <>
      {ranks.length > 0 && (
        <HeatmapStrip dashboard={dashboard} values={values} ranks={ordered} range={range} events={events} />
      )}
      <Sections dashboard={dashboard} fixed={values} happened={events} />
    </>
  );
}

/** Return what happened on some nodes; the same list again while it is the same, for what draws it. */
function useEventsOn(nodes: string[]): EventRow[] {
  const events = useEvents(useRange());
  return useMemo(() => events.filter(({ node }) => nodes.includes(node)), [events, nodes.join()]);
}

function Below({ page: { job, receipt }, events }: { page: JobPage; events: EventRow[] }) {
  const tab = useTab(TABS);
  return (
    <Tabs tabs={TABS}>
      {tab === "events" && <EventTable events={events} />}
      {tab === "receipt" && <Receipt costs={receipt} />}
      {tab === "processes" && <Processes job={job.id} />}
    </Tabs>
  );
}
