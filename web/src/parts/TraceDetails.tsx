// What took the time: operators and kernels of one rank next to a peer's, gaps and steps.
import { KINDS, nameOf, type RankSummary } from "../lib/traces";
import type { Gap, OperatorTime } from "../lib/types";
import { between, formatValue } from "../lib/units";
import { type Column, Table } from "./Table";

const MOST = 12; // rows of each table

/** An operator of the rank that is looked at, and its time on the peer. */
interface Row extends OperatorTime {
  peer: number | null;
}

export function OperatorTables({ shown, peer }: { shown: RankSummary; peer: RankSummary | null }) {
  return (
    <>
      <Operators title="Top operators" kind="operators" shown={shown} peer={peer} />
      {shown.summary.has_gpu && <Operators title="Top kernels" kind="kernels" shown={shown} peer={peer} />}
    </>
  );
}

function Operators({
  title,
  kind,
  shown,
  peer,
}: {
  title: string;
  kind: "operators" | "kernels";
  shown: RankSummary;
  peer: RankSummary | null;
}) {
  const others = new Map(peer?.summary[kind].map(({ name, self_seconds }) => [name, self_seconds]));
  const rows = shown.summary[kind]
    .slice(0, MOST)
    .map((row) => ({ ...row, peer: others.get(row.name) ?? null }));
  return (
    <section class="card">
      <h2>{title}</h2>
      {rows.length ? (
        <Table name={kind} columns={columnsOf(shown, peer)} rows={rows} id={({ name }) => name} />
      ) : (
        <p class="calm">{`No ${kind} recorded.`}</p>
      )}
    </section>
  );
}

function columnsOf(shown: RankSummary, peer: RankSummary | null): Column<Row>[] {
  const columns: Column<Row>[] = [
    { key: "name", head: "Name", cell: ({ name }) => <code class="wrap">{name}</code> },
    {
      key: "count",
      head: "Count",
      cell: ({ count }) => count.toLocaleString("en"),
      by: ({ count }) => count,
      right: true,
      narrow: true,
    },
    {
      key: "self",
      head: `Self time, ${nameOf(shown.rank)}`,
      cell: ({ self_seconds }) => formatValue(self_seconds, "seconds"),
      by: ({ self_seconds }) => self_seconds,
      right: true,
    },
  ];
  if (!peer) return columns;
  const other = {
    key: "peer",
    head: `Peer, ${nameOf(peer.rank)}`,
    cell: (row: Row) => formatValue(row.peer, "seconds"),
    by: (row: Row) => row.peer,
    right: true,
  };
  return [...columns, other];
}

const GAPS: Column<Gap>[] = [
  {
    key: "at",
    head: "At",
    cell: ({ start_seconds }) => formatValue(start_seconds, "seconds"),
    by: ({ start_seconds }) => start_seconds,
    right: true,
  },
  {
    key: "length",
    head: "Length",
    cell: ({ seconds }) => formatValue(seconds, "seconds"),
    by: ({ seconds }) => seconds,
    right: true,
  },
  { key: "kind", head: "Kind", cell: ({ kind }) => KINDS[kind] ?? kind },
  {
    key: "during",
    head: "During",
    cell: ({ during }) => (during ? <code class="wrap">{during}</code> : "–"),
    block: true,
  },
];

export function Gaps({ of: { rank, summary } }: { of: RankSummary }) {
  return (
    <section class="card">
      <h2>{`Longest gaps of ${nameOf(rank)}`}</h2>
      {summary.gaps.length ? (
        <Table
          name="gaps"
          columns={GAPS}
          rows={summary.gaps}
          id={(gap) => `${gap.kind} ${gap.start_seconds}`}
        />
      ) : (
        <p class="calm">No gaps recorded.</p>
      )}
    </section>
  );
}

/** Return the steps of a rank in one sentence. */
export function stepsOf({ rank, summary: { steps } }: RankSummary): string {
  if (!steps) return `No whole step on ${nameOf(rank)}.`;
  const range = between(steps.min_seconds, steps.max_seconds, "seconds");
  return `${steps.count} whole steps on ${nameOf(rank)}: median ${formatValue(steps.median_seconds, "seconds")}, ${range}.`;
}
