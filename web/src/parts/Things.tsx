// Containers and environments, with the GPUs that each holds.
import { useNow } from "../lib/live";
import type { Thing } from "../lib/pages";
import { exact, span } from "../lib/time";
import { link, path } from "../lib/url";
import { type Column, Table } from "./Table";

type Row = Thing & { kind: string };

export function Things({ things }: { things: [string, Thing[]][] }) {
  const now = useNow();
  const rows = things.flatMap(([kind, those]) => those.map((thing) => ({ ...thing, kind })));
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
