// The processes on a job's GPUs, and the containers and environments that hold the same GPUs.

import { useRange } from "../lib/heartbeat";
import type { Sample } from "../lib/prom";
import { useSamples } from "../lib/samples";
import { formatValue } from "../lib/units";
import { link, path } from "../lib/url";
import { pattern } from "../lib/variables";
import { Absent, Waiting } from "./Absent";
import { ExpandableTable } from "./ExpandableTable";
import type { Column } from "./Table";

export function Processes({ job }: { job: string }) {
  const range = useRange();
  const ofJob = `vigie_holder_info{kind="job", holder=~"${pattern(job)}", gpu!=""}`;
  const queries = [
    `vigie_gpu_process_memory_bytes and on (instance, gpu) ${ofJob}`,
    `vigie_holder_info{kind!="job"} and on (instance, gpu) ${ofJob}`,
  ];
  const { samples, error } = useSamples(range.to ? queries : null, range.at ?? range.to);
  if (!samples) return <Waiting error={error} what="The list of processes" />;
  const [processes = [], others = []] = samples;
  if (!processes.length && !others.length)
    return (
      <Absent>
        No process of it is on a GPU now, or no source tells: it needs the nvidia or amdgpu source.
      </Absent>
    );
  return (
    <>
      {processes.length > 0 && (
        <ExpandableTable name="processes" columns={PROCESS} rows={processes} id={idOf} />
      )}
      {others.length > 0 && <ExpandableTable name="holders" columns={HOLDER} rows={others} id={idOf} />}
    </>
  );
}

function idOf({ labels }: Sample): string {
  return Object.values(labels).join(" ");
}

function place({ labels }: Sample): string {
  return `${labels.instance ?? ""}:${labels.gpu ?? ""}`;
}

const WHERE: Column<Sample> = {
  key: "where",
  head: "GPU",
  by: place,
  cell: (row) => (
    <a href={link(path("gpu", row.labels.instance ?? "", row.labels.gpu ?? ""))}>{place(row)}</a>
  ),
};

const PROCESS: Column<Sample>[] = [
  {
    key: "pid",
    head: "ProcessRow",
    by: ({ labels }) => Number(labels.pid),
    cell: ({ labels }) => labels.pid,
  },
  WHERE,
  {
    key: "memory",
    head: "GPU memory",
    right: true,
    by: ({ value }) => value,
    cell: ({ value }) => formatValue(value, "bytes"),
  },
];

const HOLDER: Column<Sample>[] = [
  { key: "kind", head: "Kind", by: ({ labels }) => labels.kind ?? "", cell: ({ labels }) => labels.kind },
  { key: "name", head: "Name", by: ({ labels }) => labels.holder ?? "", cell: ({ labels }) => labels.holder },
  { key: "user", head: "User", by: ({ labels }) => labels.user ?? "", cell: ({ labels }) => labels.user },
  WHERE,
];
