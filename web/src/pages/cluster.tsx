// Is anything broken, is it used, by whom?
import { useState } from "preact/hooks";
import { usePage } from "../lib/api";
import { useDashboard } from "../lib/dashboards";
import type { ClusterNode, ClusterPage } from "../lib/types";
import { link } from "../lib/url";
import { pattern } from "../lib/variables";
import { Waiting } from "../parts/Absent";
import { Charts } from "../parts/Charts";
import { CopyAs } from "../parts/CopyAs";
import { FirstVisit } from "../parts/FirstVisit";
import { GpuMap } from "../parts/GpuMap";
import { IncidentList } from "../parts/IncidentList";
import { JobTable, WaitingJobs } from "../parts/JobTable";
import { Numbers } from "../parts/Numbers";
import { Verdict } from "../parts/Verdict";

const CHARTS = "page-cluster";
const JOBS = 12;
const WIDE = 640; // cells that need the whole width

export default function Cluster() {
  const { data, error } = usePage<ClusterPage>("cluster");
  useDashboard(CHARTS);
  if (!data) return <Waiting error={error} what="The cluster" />;
  const gpus = data.nodes.reduce((sum, { cells }) => sum + cells.length, 0);
  return (
    <div class="page cluster">
      <div class="opening">
        <h1 class="unseen">Cluster</h1>
        <Verdict verdict={data.verdict} />
        <CopyAs command="vigie top" />
      </div>
      {gpus > 0 ? <Numbers numbers={data.numbers} /> : <FirstVisit nodes={data.nodes} />}
      <Body data={data} wide={gpus > WIDE} />
      <Pictures nodes={data.nodes} gpus={gpus} />
    </div>
  );
}

/** The charts; a single machine without GPUs shows what it has. */
function Pictures({ nodes, gpus }: { nodes: ClusterNode[]; gpus: number }) {
  const [only, ...others] = nodes;
  if (!only) return null;
  if (gpus || others.length) return <Charts slug={CHARTS} />;
  return <Charts slug="page-node" fixed={{ node: pattern(only.name) }} about={{ node: only.name }} />;
}

function Body({ data, wide }: { data: ClusterPage; wide: boolean }) {
  const [job, setJob] = useState<string | null>(null);
  const map = data.nodes.length > 0 && (
    <section class="card">
      <h2>{data.nodes.some(({ cells }) => cells.length) ? "GPUs" : "Nodes, by CPU"}</h2>
      <GpuMap nodes={data.nodes} job={job} />
    </section>
  );
  return (
    <>
      <div class="columns">
        <section class="card">
          <h2>Needs attention</h2>
          <IncidentList items={data.incidents} more={data.incidents_more} calm="Nothing needs anybody." />
        </section>
        <div class="stacked">
          {!wide && map}
          <Jobs data={data} hover={setJob} />
        </div>
      </div>
      {wide && map}
    </>
  );
}

function Jobs({ data, hover }: { data: ClusterPage; hover: (job: string | null) => void }) {
  const { jobs, waiting } = data;
  return (
    <>
      <section class="card">
        <h2>
          Jobs now <a href={link("jobs")}>all {jobs.length}</a>
        </h2>
        {jobs.length ? (
          <JobTable jobs={jobs.slice(0, JOBS)} hover={(row) => hover(row?.id ?? null)} />
        ) : (
          <p class="calm">No job runs, as far as the nodes tell.</p>
        )}
      </section>
      {waiting.length > 0 && (
        <section class="card">
          <h2>
            Waiting <a href={link("jobs?state=waiting")}>all {waiting.length}</a>
          </h2>
          <WaitingJobs jobs={waiting} />
        </section>
      )}
    </>
  );
}
