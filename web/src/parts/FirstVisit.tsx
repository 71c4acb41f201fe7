// What the Cluster page says while there is no GPU to show: no node yet, or none with one.
import { usePage } from "../lib/api";
import type { ClusterNode, NodePage, Stat } from "../lib/types";
import { path } from "../lib/url";
import { Copy } from "./CopyAs";
import { NoGpu } from "./NoGpu";
import { Numbers } from "./Numbers";

const OF_GPUS = ["working", "power", "temperature"];

function ofHost({ key }: Stat): boolean {
  return !OF_GPUS.includes(key); // the card below says why there are none
}

export function FirstVisit({ nodes }: { nodes: ClusterNode[] }) {
  const { data } = usePage<NodePage>(nodes[0] ? path("nodes", nodes[0].name) : null);
  if (nodes.length)
    return (
      <>
        {data && nodes.length === 1 && <Numbers numbers={data.numbers.filter(ofHost)} />}
        <NoGpu sources={data?.sources ?? []} />
      </>
    );
  return (
    <section class="card no-gpu">
      <h2>No node yet</h2>
      <p class="line">
        The line to paste on a machine that is to be watched: <code>vigie nodes join</code>
        <Copy text="vigie nodes join" label="Copy" />
      </p>
      <p class="line">
        To see a cluster, simulated: <code>vigie demo</code>
        <Copy text="vigie demo" label="Copy" />
      </p>
    </section>
  );
}
