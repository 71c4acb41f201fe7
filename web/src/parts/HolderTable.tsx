// Containers and environments, with the GPUs that each holds.
import { useNow } from "../lib/heartbeat";
import { exact, span } from "../lib/time";
import type { NodeHolder, UserHolder } from "../lib/types";
import { link, path } from "../lib/url";
import { type Column, Table } from "./Table";

/** A container or an environment, of a node or of a user. */
export type HolderRow = Pick<NodeHolder, "name" | "from_ms" | "gpus"> & Partial<NodeHolder & UserHolder>;

type Row = HolderRow & { kind: string };

export function HolderTable({ holders }: { holders: [string, HolderRow[]][] }) {
  const now = useNow();
  const rows = holders.flatMap(([kind, some]) => some.map((holder) => ({ ...holder, kind })));
  if (!rows.length) return null;
  return (
    <Table
      name="holders"
      columns={columns(rows, now)}
      rows={rows}
      id={(row) => `${row.kind} ${row.node} ${row.name}`}
    />
  );
}

function columns(rows: Row[], now: number): Column<Row>[] {
  const all: (Column<Row> | false)[] = [
    { key: "kind", head: "Kind", by: ({ kind }) => kind, cell: ({ kind }) => kind },
    {
      key: "name",
      head: "Name",
      by: ({ name }) => name,
      cell: ({ name }) => <span class="wraps">{name}</span>,
    },
    rows.some(({ user }) => user) && {
      key: "user",
      head: "User",
      by: ({ user }) => user ?? "",
      cell: ({ user }) => user && <a href={link(path("user", user))}>{user}</a>,
    },
    rows.some(({ image }) => image) && {
      key: "image",
      head: "Image",
      narrow: true,
      cell: ({ image }) => <span class="aside">{image}</span>,
    },
    rows.some(({ node }) => node) && {
      key: "node",
      head: "Node",
      by: ({ node }) => node ?? "",
      cell: ({ node }) => node && <a href={link(path("node", node))}>{node}</a>,
    },
    { key: "gpus", head: "GPUs", cell: ({ gpus }) => gpus.join(", ") || "none" },
    {
      key: "since",
      head: "Since",
      right: true,
      by: ({ from_ms }) => -from_ms,
      cell: ({ from_ms }) => <time title={exact(from_ms)}>{span((now - from_ms) / 1000)}</time>,
    },
  ];
  return all.filter((column) => column !== false);
}
