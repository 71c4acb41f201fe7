// Jobs: who, how many GPUs, since when, what of it works, and what is odd.
import { useNow } from "../lib/live";
import { exact, span } from "../lib/time";
import type { JobRow } from "../lib/types";
import { link, path } from "../lib/url";
import { Missing } from "./Absent";
import { LadderBar, share } from "./LadderBar";
import { type Column, Table } from "./Table";

export function JobTable({
  jobs,
  name = "jobs",
  hover,
}: {
  jobs: JobRow[];
  name?: string;
  hover?: (job: JobRow | null) => void;
}) {
  const now = useNow();
  return (
    <Table
      name={name}
      columns={columns(now)}
      rows={jobs}
      id={(job) => job.id}
      {...(hover ? { hover } : {})}
    />
  );
}

export function Chip({ text, why }: { text: string; why: string }) {
  return text ? (
    <span class="chip" title={why}>
      {text}
    </span>
  ) : null;
}

function columns(now: number): Column<JobRow>[] {
  return [
    {
      key: "name",
      head: "Job",
      by: (job) => job.name,
      cell: (job) => (
        <a href={link(path("job", job.id))}>
          {job.name || job.id} <span class="aside narrow">{job.name ? job.id : ""}</span>
        </a>
      ),
    },
    {
      key: "user",
      head: "User",
      narrow: true,
      by: (job) => job.user,
      cell: (job) => job.user && <a href={link(path("user", job.user))}>{job.user}</a>,
    },
    { key: "gpus", head: "GPUs", right: true, by: (job) => job.gpus.length, cell: (job) => job.gpus.length },
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
        (job.ladder?.sm ?? job.ladder?.busy ?? null) &&
        (job.ladder?.sm ?? job.ladder?.busy ?? 0) / (job.ladder?.held || 1),
      cell: (job) => (
        <span class="work">
          <LadderBar ladder={job.ladder} />
          <span class="percent">
            {job.ladder
              ? share(job.ladder.sm ?? job.ladder.busy, job.ladder.held).replace("not measured", "–")
              : "–"}
          </span>
        </span>
      ),
    },
    {
      key: "chip",
      head: "Odd",
      by: (job) => job.chip,
      cell: (job) => <Chip text={job.chip} why={job.why} />,
    },
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
          <dt>{reason || "no reason is given"}</dt>
          {those.map((job) => (
            <dd key={job.id}>
              <a href={link(path("job", job.id))}>{job.name || job.id}</a>
              <span class="aside">
                {job.user}
                {job.queued_ms !== null && `, waits ${span((now - job.queued_ms) / 1000)}`}
              </span>
            </dd>
          ))}
        </div>
      ))}
    </dl>
  );
}
