// Who is on a node: jobs, containers and environments, and the processes on its GPUs.
import type { NodePage, ProcessRow } from "../lib/types";
import { formatValue } from "../lib/units";
import { link, path, usePlace } from "../lib/url";
import { ExpandableTable } from "./ExpandableTable";
import { type HolderRow, HolderTable } from "./HolderTable";
import { JobTable } from "./JobTable";
import type { Column } from "./Table";

export function NodeHolderLists({ who }: { who: NodePage["who"] }) {
  const { jobs, containers, environments, processes } = who;
  const holders: [string, HolderRow[]][] = [
    ["container", containers],
    ["environment", environments],
  ];
  const nobody = !jobs.length && !processes.length && holders.every(([, some]) => !some.length);
  if (nobody)
    return (
      <p class="calm">Nobody that a source would know of: neither job, container nor process on a GPU.</p>
    );
  return (
    <div class="who-lists">
      {jobs.length > 0 && <JobTable jobs={jobs} />}
      <HolderTable holders={holders} />
      {processes.length > 0 && (
        <ExpandableTable
          name="processes"
          columns={columns()}
          rows={processes}
          id={({ gpu, pid }) => `${gpu} ${pid}`}
        />
      )}
    </div>
  );
}

function columns(): Column<ProcessRow>[] {
  const node = usePlace().parts[1] ?? "";
  return [
    { key: "pid", head: "ProcessRow", by: ({ pid }) => Number(pid), cell: ({ pid }) => pid },
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
      cell: ({ gpu_memory_bytes }) => formatValue(gpu_memory_bytes, "bytes"),
    },
  ];
}
