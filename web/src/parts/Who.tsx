// Who is on a node: jobs, containers and environments, and the processes on its GPUs.
import type { NodePage, Process, Thing } from "../lib/pages";
import { said } from "../lib/units";
import { link, path, usePlace } from "../lib/url";
import { JobTable } from "./JobTable";
import { Long } from "./Long";
import type { Column } from "./Table";
import { Things } from "./Things";

export function Who({ who }: { who: NodePage["who"] }) {
  const { jobs, containers, environments, processes } = who;
  const things: [string, Thing[]][] = [
    ["container", containers],
    ["environment", environments],
  ];
  const nobody = !jobs.length && !processes.length && things.every(([, those]) => !those.length);
  if (nobody)
    return (
      <p class="calm">Nobody that a source would know of: neither job, container nor process on a GPU.</p>
    );
  return (
    <div class="who-lists">
      {jobs.length > 0 && <JobTable jobs={jobs} />}
      <Things things={things} />
      {processes.length > 0 && (
        <Long name="processes" columns={columns()} rows={processes} id={({ gpu, pid }) => `${gpu} ${pid}`} />
      )}
    </div>
  );
}

function columns(): Column<Process>[] {
  const node = usePlace().parts[1] ?? "";
  return [
    { key: "pid", head: "Process", by: ({ pid }) => Number(pid), cell: ({ pid }) => pid },
    {
      key: "gpu",
      head: "GPU",
      by: ({ gpu }) => Number(gpu),
      cell: ({ gpu }) => <a href={link(path("gpu", node, gpu))}>{`GPU ${gpu}`}</a>,
    },
    {
      key: "memory",
      head: "GPU memory",
      right: true,
      by: ({ gpu_memory_bytes }) => gpu_memory_bytes,
      cell: ({ gpu_memory_bytes }) => said(gpu_memory_bytes, "bytes"),
    },
  ];
}
