// Nodes: which are there, how each is and why, and the line that lets another one join.
import { usePage } from "../lib/api";
import type { ListedNode, NodesPage } from "../lib/types";
import { formatValue } from "../lib/units";
import { address, link, path } from "../lib/url";
import { Absent, Missing, Waiting } from "../parts/Absent";
import { Copy } from "../parts/CopyAs";
import { NodeState } from "../parts/NodeState";
import { PageHeader } from "../parts/PageHeader";
import { type Column, Table } from "../parts/Table";
import { Verdict } from "../parts/Verdict";

const COLUMNS: Column<ListedNode>[] = [
  {
    key: "name",
    head: "Node",
    by: ({ name }) => name,
    cell: ({ name }) => <a href={link(path("node", name))}>{name}</a>,
  },
  { key: "state", head: "State", by: ({ state }) => state, cell: (node) => <NodeState node={node} /> },
  {
    key: "incidents",
    head: "Found",
    by: ({ incidents }) => incidents,
    cell: ({ incidents, name }) =>
      incidents > 0 && (
        <a class="badge" href={link("events", { node: name })}>
          {incidents}
        </a>
      ),
  },
  {
    key: "slurm",
    head: "Slurm",
    by: ({ slurm }) => slurm?.state ?? null,
    cell: ({ slurm }) =>
      slurm && (
        <span class="wraps">
          {slurm.state} <span class="aside">{slurm.reason}</span>
        </span>
      ),
  },
  { key: "gpus", head: "GPUs", right: true, by: ({ gpus }) => gpus, cell: (node) => <Gpus node={node} /> },
  share("cpu", "CPU"),
  share("memory", "Memory"),
  {
    key: "labels",
    head: "Labels",
    narrow: true,
    cell: ({ labels }) => (
      <span class="aside">
        {Object.entries(labels)
          .map(([name, value]) => `${name} ${value}`)
          .join(", ")}
      </span>
    ),
  },
  {
    key: "version",
    head: "Agent",
    narrow: true,
    by: ({ version }) => version,
    cell: ({ version }) => <span class="aside">{version}</span>,
  },
];

/** How many GPUs there are; of a node that is heard, how many of them answer. */
function Gpus({ node: { state, gpus, present } }: { node: ListedNode }) {
  if (!gpus) return null;
  return state === "up" && present < gpus ? (
    <span class="value critical">{`${present} of ${gpus}`}</span>
  ) : (
    <>{gpus}</>
  );
}

function share(key: "cpu" | "memory", head: string): Column<ListedNode> {
  return {
    key,
    head,
    right: true,
    narrow: key === "memory",
    by: (node) => node[key],
    cell: (node) =>
      node[key] === null ? (
        <Missing why={node.why || "no source gives this here"} />
      ) : (
        formatValue(node[key], "ratio")
      ),
  };
}

export default function Nodes() {
  const { data, error } = usePage<NodesPage>("nodes");
  return (
    <div class="page nodes">
      <PageHeader title="Nodes" command="vigie nodes" />
      {data && <Verdict verdict={data.verdict} />}
      <section class="card">
        {!data ? (
          <Waiting error={error} what="The list of nodes" />
        ) : data.nodes.length ? (
          <Table name="nodes" columns={COLUMNS} rows={data.nodes} id={({ name }) => name} />
        ) : (
          <Absent>No node has joined yet.</Absent>
        )}
      </section>
      <Join />
    </div>
  );
}

/** The way for another machine to join: the token is no viewer's to see, so the server prints the whole line. */
export function Join() {
  const agent = `VIGIE_TOKEN=TOKEN vigie agent --server ${address("").replace(/\/$/, "")}`;
  return (
    <section class="card join">
      <h2>Let another machine join</h2>
      <p>
        On the server, <code>vigie nodes join</code> prints the line with its token. Paste it on the machine:
        it needs no open port.
      </p>
      <p class="line">
        <code>{agent}</code>
        <Copy text="vigie nodes join" label="Copy the server's command" />
        <Copy text={agent} label="Copy the line" />
      </p>
    </section>
  );
}
