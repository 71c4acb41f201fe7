// What a node's agent reads: whether each source gives anything, why not, and what it costs.
import type { SourceRow } from "../lib/types";
import { formatValue } from "../lib/units";
import { Absent, Missing } from "./Absent";
import { StateIcon } from "./StateIcon";
import { type Column, Table } from "./Table";

const MARKS: Record<SourceRow["state"], string> = {
  ok: "ok",
  unavailable: "unknown",
  error: "critical",
  stale: "warning",
};

const COLUMNS: Column<SourceRow>[] = [
  { key: "source", head: "Source", by: ({ source }) => source, cell: ({ source }) => source },
  {
    key: "state",
    head: "State",
    by: ({ state }) => state,
    cell: ({ state }) => (
      <span class="node-state">
        <StateIcon state={MARKS[state] ?? "unknown"} />
        {state === "unavailable" ? "absent" : state}
      </span>
    ),
  },
  { key: "reason", head: "Why", cell: ({ reason }) => <span class="wraps">{reason}</span> },
  {
    key: "seconds",
    head: "Takes",
    right: true,
    by: ({ seconds }) => seconds,
    cell: ({ seconds }) =>
      seconds === null ? <Missing why="not measured" /> : formatValue(seconds, "seconds"),
  },
];

export function Sources({ sources }: { sources: SourceRow[] }) {
  if (!sources.length) return <Absent>Nothing is known of its sources: its agent has not told yet.</Absent>;
  return <Table name="sources" columns={COLUMNS} rows={sources} id={({ source }) => source} />;
}
