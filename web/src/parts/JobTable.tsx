// Jobs that run, wait or are over: who, how many GPUs, since when, what of it works, and what is odd.
import { useNow } from "../lib/heartbeat";
import { clock, exact, span } from "../lib/time";
import type { JobLadder, JobRow } from "../lib/types";
import { link, path } from "../lib/url";
import { Missing } from "./Absent";
import { LadderBar, share } from "./LadderBar";
import { type Column, Table } from "./Table";

export function JobTable({
  jobs,
  state = "running",
  name = "jobs",
  without = "",
  hover,
}: {
  jobs: JobRow[];
  state?: string;
  name?: string;
  without?: string; // the column that says the same in every row
  hover?: (job: JobRow | null) => void;
}) {
  const now = useNow();
  return (
    <Table
      name={name}
      columns={(COLUMNS[state] ?? running)(now).filter(({ key }) => key !== without)}
      rows={jobs}
      id={(job) => job.id}
      {...(hover ? { hover } : {})}
    />
  );
}

/** The last step that is measured; where that is not the SMs, it says so. */
function Share({ ladder: { held, busy, sm } }: { ladder: JobLadder }) {
  return (
    <>
      <span class="percent">{share(sm ?? busy, held ?? 1).replace("not measured", "–")}</span>
      {sm === null && busy !== null && <span class="aside narrow">busy</span>}
    </>
  );
}

function Badge({ text, why }: { text: string; why: string }) {
  return text ? (
    <span class="badge" title={why}>
      {text}
    </span>
  ) : null;
}

const NAME: Column<JobRow> = {
  key: "name",
  head: "Job",
  by: (job) => job.name,
  cell: (job) => (
    <a href={link(path("job", job.id))}>
      {job.name || job.id} <span class="aside narrow">{job.name ? job.id : ""}</span>
    </a>
  ),
};
const USER: Column<JobRow> = {
  key: "user",
  head: "User",
  narrow: true,
  by: (job) => job.user,
  cell: (job) => job.user && <a href={link(path("user", job.user))}>{job.user}</a>,
};
const GPUS: Column<JobRow> = {
  key: "gpus",
  head: "GPUs",
  right: true,
  // A job that ended before its GPUs were seen has only their number.
  by: (job) => job.gpus.length || job.wanted_gpus,
  cell: (job) => job.gpus.length || job.wanted_gpus || 0,
};
const ODD: Column<JobRow> = {
  key: "badge",
  head: "Odd",
  by: (job) => job.badge,
  cell: (job) => <Badge text={job.badge} why={job.why} />,
};
const COLUMNS: Record<string, (now: number) => Column<JobRow>[]> = { running, waiting, finished };

function running(now: number): Column<JobRow>[] {
  return [
    NAME,
    USER,
    GPUS,
    {
      key: "age",
      head: "Running",
      right: true,
      narrow: true,
      by: (job) => (job.start_ms === null ? null : (job.end_ms ?? now) - job.start_ms),
      cell: (job) =>
        job.start_ms === null ? (
          <Missing why="it has not started" />
        ) : (
          <time title={exact(job.start_ms)}>{span(((job.end_ms ?? now) - job.start_ms) / 1000)}</time>
        ),
    },
    {
      key: "work",
      head: "Held › process › busy › SM",
      by: (job) =>
        (job.ladder.sm ?? job.ladder.busy) &&
        (job.ladder.sm ?? job.ladder.busy ?? 0) / (job.ladder.held || 1),
      cell: (job) => (
        <span class="work">
          <LadderBar ladder={job.ladder} />
          {(job.ladder.held ?? 0) > 0 && <Share ladder={job.ladder} />}
        </span>
      ),
    },
    ODD,
  ];
}

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
      cell: (job) => (
        <>
          {job.reason || "no reason is given"} <span class="aside narrow">{job.why}</span>
        </>
      ),
    },
  ];
}

function finished(now: number): Column<JobRow>[] {
  return [
    NAME,
    USER,
    GPUS,
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
    ODD,
  ];
}

/** Jobs that wait, by the reason for which they do. */
export function WaitingJobs({ jobs }: { jobs: JobRow[] }) {
  const now = useNow();
  const reasons = new Map<string, JobRow[]>();
  for (const job of jobs) reasons.set(job.reason, [...(reasons.get(job.reason) ?? []), job]);
  return (
    <dl class="reasons">
      {[...reasons].map(([reason, those]) => (
        <div key={reason}>
          <dt>{[reason || "no reason is given", those[0]?.why].filter(Boolean).join(": ")}</dt>
          {those.map((job) => (
            <dd key={job.id}>
              <a href={link(path("job", job.id))}>{job.name || job.id}</a>
              <span class="aside">
                {job.user}
                {job.wanted_gpus !== null && `, ${job.wanted_gpus} GPU${job.wanted_gpus === 1 ? "" : "s"}`}
                {job.queued_ms !== null && `, waits ${span((now - job.queued_ms) / 1000)}`}
              </span>
            </dd>
          ))}
        </div>
      ))}
    </dl>
  );
}
