// Traces as a list: the newest first, with what each found.
import { useNow } from "../lib/heartbeat";
import { ago, exact } from "../lib/time";
import { collected, sentenceOf, sizeOf } from "../lib/traces";
import type { TraceSession } from "../lib/types";
import { formatValue } from "../lib/units";
import { link, path } from "../lib/url";
import { StateIcon } from "./StateIcon";
import { type Column, Table } from "./Table";
import { countStates } from "./TraceProgress";

const SIGNS: Record<string, string> = { done: "ok", failed: "warning" };

const COLUMNS: Column<TraceSession>[] = [
  { key: "state", head: "State", cell: State, by: ({ state }) => state },
  { key: "job", head: "Job", cell: Target, by: ({ selection }) => selection.job ?? "" },
  {
    key: "ranks",
    head: "Ranks",
    cell: (trace) => (
      <span title={countStates(trace.ranks)}>{`${collected(trace).length} of ${trace.ranks.length}`}</span>
    ),
    by: ({ ranks }) => ranks.length,
    right: true,
  },
  { key: "age", head: "Taken", cell: (trace) => <Age trace={trace} />, by: ({ created_ms }) => created_ms },
  {
    key: "size",
    head: "Size",
    cell: (trace) => formatValue(sizeOf(trace) || null, "bytes"),
    by: sizeOf,
    right: true,
    narrow: true,
  },
  { key: "verdict", head: "Verdict", cell: (trace) => <span class="wrap">{said(trace)}</span>, block: true },
];

export function TraceTable({ traces }: { traces: TraceSession[] }) {
  return <Table name="traces" columns={COLUMNS} rows={traces} id={({ id }) => id} first="-age" />;
}

function said(trace: TraceSession): string {
  return trace.state === "open" ? `In progress: ${countStates(trace.ranks)}` : sentenceOf(trace);
}

function State({ id, state }: TraceSession) {
  return (
    <a class="trace-state" href={link(path("trace", id))}>
      {SIGNS[state] && <StateIcon state={SIGNS[state]} />}
      {state === "open" ? "in progress" : state}
    </a>
  );
}

function Target({ selection: { job, nodes, user } }: TraceSession) {
  if (job) return <a href={link(path("job", job))}>{job}</a>;
  return <>{[...(nodes ?? []), user].filter(Boolean).join(", ") || "–"}</>;
}

function Age({ trace: { created_ms } }: { trace: TraceSession }) {
  return <time title={exact(created_ms)}>{ago(created_ms, useNow())}</time>;
}
