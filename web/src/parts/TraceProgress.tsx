// How far each rank of a trace is: its state on the way, and the reason where it stopped.
import { nameOf, STEPS } from "../lib/traces";
import type { RankTrace } from "../lib/types";
import { formatValue } from "../lib/units";
import { link, path } from "../lib/url";
import { ExpandableTable } from "./ExpandableTable";
import type { Column } from "./Table";

const COLUMNS: Column<RankTrace>[] = [
  { key: "rank", head: "Rank", cell: nameOf, by: ({ rank }) => rank },
  {
    key: "node",
    head: "Node",
    cell: ({ node }) => <a href={link(path("node", node))}>{node}</a>,
    by: ({ node }) => node,
  },
  { key: "pid", head: "PID", cell: ({ pid }) => pid, right: true, narrow: true },
  {
    key: "state",
    head: "State",
    cell: (rank) => <Steps rank={rank} />,
    by: ({ state }) => STEPS.indexOf(state),
  },
  {
    key: "size",
    head: "File",
    cell: (rank) => (rank.size_bytes ? formatValue(rank.size_bytes, "bytes") : "–"),
    by: ({ size_bytes }) => size_bytes,
    right: true,
  },
  {
    key: "reason",
    head: "Remark",
    cell: ({ reason, note }) => <span class="wrap">{[reason, note].filter(Boolean).join(" ")}</span>,
    block: true,
  },
];

export function TraceProgress({ ranks }: { ranks: RankTrace[] }) {
  const rows = [...ranks].sort((a, b) => Number(isFine(a)) - Number(isFine(b)));
  const id = (rank: RankTrace) => `${rank.node} ${rank.pid}`;
  return <ExpandableTable name="ranks" columns={COLUMNS} rows={rows} id={id} />;
}

/** Tell whether there is nothing to say about a rank; the others come first. */
function isFine({ state, reason, note }: RankTrace): boolean {
  return STEPS.includes(state) && !reason && !note;
}

/** The steps as a row of fields; a rank that ended elsewhere has its state in words alone. */
function Steps({ rank: { state } }: { rank: RankTrace }) {
  const reached = STEPS.indexOf(state);
  if (reached < 0) return <span class="ended">{state}</span>;
  return (
    <span class="trace-steps">
      {STEPS.map((step, i) => (
        <i key={step} class={i <= reached ? "reached" : ""} />
      ))}
      {state}
    </span>
  );
}

/** Return how many ranks are in which state: "6 collected, 2 writing". */
export function countStates(ranks: RankTrace[]): string {
  const counts = new Map<string, number>();
  for (const { state } of ranks) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].map(([state, count]) => `${count} ${state}`).join(", ");
}
