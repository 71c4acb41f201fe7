// What does this user hold, is it used, what did it cost?
import { useMemo } from "preact/hooks";
import { usePage } from "../lib/api";
import { useDashboard } from "../lib/dashboards";
import { useRange } from "../lib/heartbeat";
import type { ClusterNode, EventRow, GpuCell, JobRow, ListedNode, NodesPage, UserPage } from "../lib/types";
import { pattern } from "../lib/variables";
import { Waiting } from "../parts/Absent";
import { Charts, useEvents } from "../parts/Charts";
import { Copy } from "../parts/CopyAs";
import { DayBars } from "../parts/DayBars";
import { GpuMap } from "../parts/GpuMap";
import { HolderTable } from "../parts/HolderTable";
import { IncidentList } from "../parts/IncidentList";
import { JobTable, WaitingJobs } from "../parts/JobTable";
import { Numbers } from "../parts/Numbers";
import { PageHeader } from "../parts/PageHeader";
import { Verdict } from "../parts/Verdict";

const CHARTS = "page-user";

export default function User({ parts }: { parts: string[] }) {
  const user = parts[0] ?? "";
  const { data, error } = usePage<UserPage>(`users/${encodeURIComponent(user)}`);
  const events = useEventsOn(data?.cells ?? []);
  useDashboard(CHARTS);
  if (!data) return <Waiting error={error} what={`User ${user}`} />;
  return (
    <div class="page user">
      <PageHeader kind="User" title={user} command={`vigie who --user ${user}`} />
      <Verdict verdict={data.verdict} />
      <Numbers numbers={data.numbers} />
      {data.incidents.length > 0 && (
        <section class="card">
          <h2>What was found about these jobs</h2>
          <IncidentList items={data.incidents} calm="" />
        </section>
      )}
      <Idle idle={data.idle} />
      <section class="card">
        <h2>GPUs held</h2>
        <Cells cells={data.cells} />
      </section>
      <Jobs jobs={data.jobs} />
      <section class="card">
        <h2>GPU-hours a day, held and worked</h2>
        <DayBars days={data.days} />
      </section>
      <Charts slug={CHARTS} fixed={{ user: pattern(user) }} happened={events} />
      {data.environments.length + data.containers.length > 0 && (
        <section class="card">
          <h2>Environments and containers</h2>
          <HolderTable
            holders={[
              ["environment", data.environments],
              ["container", data.containers],
            ]}
          />
        </section>
      )}
    </div>
  );
}

/** Return what happened where the user's cells are. */
function useEventsOn(cells: GpuCell[]): EventRow[] {
  const events = useEvents(useRange());
  const nodes = new Set(cells.map(({ node }) => node));
  return useMemo(() => events.filter(({ node }) => nodes.has(node)), [events, [...nodes].join()]);
}

function Idle({ idle }: { idle: UserPage["idle"] }) {
  if (!idle.length) return null;
  return (
    <section class="card">
      <h2>Held but idle</h2>
      <ul class="idle">
        {idle.map(({ summary, command }) => (
          <li key={summary}>
            <span>{summary}</span>
            {command && (
              <span class="line">
                <code>{command}</code>
                <Copy text={command} label="Copy" />
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Cells({ cells }: { cells: GpuCell[] }) {
  const { data: all } = usePage<NodesPage>("nodes");
  if (!cells.length) return <p class="calm">None now.</p>;
  return <GpuMap nodes={nodesOf(cells, all?.nodes ?? [])} />;
}

/** Return the nodes of some cells with these alone on them, for a map of one's own. */
function nodesOf(cells: GpuCell[], all: ListedNode[]): ClusterNode[] {
  const plain = { state: "up", why: "", labels: {}, slurm: null, cpu: null, memory: null };
  const names = [...new Set(cells.map(({ node }) => node))];
  return names.map((name) => ({
    ...plain,
    ...all.find((node) => node.name === name),
    name,
    cells: cells.filter(({ node }) => node === name),
  }));
}

function Jobs({ jobs }: { jobs: JobRow[] }) {
  const those = (wanted: string) => jobs.filter(({ state }) => state === wanted);
  const [running, waiting, finished] = [those("running"), those("waiting"), those("finished")];
  return (
    <section class="card">
      <h2>Jobs</h2>
      {running.length ? <JobTable jobs={running} without="user" /> : <p class="calm">None runs now.</p>}
      {waiting.length > 0 && (
        <>
          <h3>Waiting</h3>
          <WaitingJobs jobs={waiting} />
        </>
      )}
      {finished.length > 0 && (
        <>
          <h3>Finished</h3>
          <JobTable jobs={finished} state="finished" name="finished" without="user" />
        </>
      )}
    </section>
  );
}
