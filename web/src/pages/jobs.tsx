// Jobs: which run, which wait and why, which are over; what each makes of its GPUs, and what was found.
import { useOutlook } from "../lib/api";
import { useNow } from "../lib/live";
import type { JobsOutlook } from "../lib/outlooks";
import { clock, exact, span } from "../lib/time";
import type { JobRow } from "../lib/types";
import { link, path } from "../lib/url";
import { Absent, Missing, Waiting } from "../parts/Absent";
import { Head } from "../parts/Head";
import { Chip, JobTable } from "../parts/JobTable";
import { type Column, Table } from "../parts/Table";
import { Tabs, useTab } from "../parts/Tabs";
import { Verdict } from "../parts/Verdict";

const TABS = [
  { key: "running", label: "Running" },
  { key: "waiting", label: "Waiting" },
  { key: "finished", label: "Finished" },
];
const NONE: Record<string, string> = {
  running: "No job runs now.",
  waiting: "No job waits.",
  finished: "No job has finished in the time that is kept.",
};

export default function Jobs() {
  const state = useTab(TABS, "state");
  const { data, error } = useOutlook<JobsOutlook>("jobs", { state });
  return (
    <div class="page jobs">
      <Head title="Jobs" command={`vigie jobs --state ${state}`} />
      {data && <Verdict verdict={data.verdict} />}
      <Tabs tabs={TABS} name="state">
        {data ? <List jobs={data.jobs} state={state} /> : <Waiting error={error} what="The list of jobs" />}
      </Tabs>
    </div>
  );
}

function List({ jobs, state }: { jobs: JobRow[]; state: string }) {
  const now = useNow();
  if (!jobs.length) return <Absent>{NONE[state]}</Absent>;
  if (state === "running") return <JobTable jobs={jobs} />;
  const columns = state === "waiting" ? waiting(now) : finished(now);
  return <Table name="jobs" columns={columns} rows={jobs} id={({ id }) => id} />;
}

const NAME: Column<JobRow> = {
  key: "name",
  head: "Job",
  by: (job) => job.name,
  cell: (job) => (
    <a href={link(path("job", job.id))}>
      {job.name || job.id} <span class="aside">{job.name ? job.id : ""}</span>
    </a>
  ),
};
const USER: Column<JobRow> = {
  key: "user",
  head: "User",
  by: (job) => job.user,
  cell: (job) => job.user && <a href={link(path("user", job.user))}>{job.user}</a>,
};

function waiting(now: number): Column<JobRow>[] {
  return [
    NAME,
    USER,
    {
      key: "gpus",
      head: "Wants GPUs",
      right: true,
      by: (job) => job.wanted_gpus,
      cell: (job) => job.wanted_gpus ?? <Missing why="Slurm does not say" />,
    },
    {
      key: "partition",
      head: "Partition",
      narrow: true,
      by: (job) => job.partition,
      cell: (job) => job.partition,
    },
    {
      key: "waits",
      head: "Waits",
      right: true,
      by: (job) => job.queued_ms && now - job.queued_ms,
      cell: (job) => job.queued_ms !== null && span((now - job.queued_ms) / 1000),
    },
    {
      key: "reason",
      head: "Why",
      by: (job) => job.reason,
      cell: (job) => job.reason || "no reason is given",
    },
  ];
}

function finished(now: number): Column<JobRow>[] {
  return [
    NAME,
    USER,
    { key: "gpus", head: "GPUs", right: true, by: (job) => job.gpus.length, cell: (job) => job.gpus.length },
    {
      key: "ended",
      head: "Ended",
      by: (job) => job.end_ms,
      cell: (job) => job.end_ms !== null && <time title={exact(job.end_ms)}>{clock(job.end_ms, now)}</time>,
    },
    {
      key: "ran",
      head: "Ran",
      right: true,
      by: (job) => (job.start_ms === null || job.end_ms === null ? null : job.end_ms - job.start_ms),
      cell: (job) => job.start_ms !== null && job.end_ms !== null && span((job.end_ms - job.start_ms) / 1000),
    },
    { key: "reason", head: "How it ended", by: (job) => job.reason, cell: (job) => job.reason || "not told" },
    {
      key: "chip",
      head: "Odd",
      by: (job) => job.chip,
      cell: (job) => <Chip text={job.chip} why={job.why} />,
    },
  ];
}
