// The library of traces: what was recorded of which job, how far it is, and what it says.
import { useTraces } from "../lib/traces";
import type { TraceSession } from "../lib/types";
import { Waiting } from "../parts/Absent";
import { Copy } from "../parts/CopyAs";
import { PageHeader } from "../parts/PageHeader";
import { SignInFor } from "../parts/SignInFor";
import { TraceTable } from "../parts/TraceTable";
import { Verdict } from "../parts/Verdict";

const START = "vigie trace start --job JOB";
const ENABLE = "vigie trace enable slurm";

export default function Traces() {
  const { allowed, data, error } = useTraces();
  return (
    <div class="page traces">
      <PageHeader title="Traces" command="vigie trace list" />
      {!allowed && <SignInFor what="see traces" />}
      {allowed &&
        (data ? <Library traces={data.traces} /> : <Waiting error={error} what="The list of traces" />)}
    </div>
  );
}

function Library({ traces }: { traces: TraceSession[] }) {
  if (!traces.length) return <NoTraces />;
  return (
    <>
      <Verdict verdict={{ state: "ok", sentence: verdictOf(traces) }} />
      <section class="card">
        <h2>Library</h2>
        <TraceTable traces={traces} />
      </section>
    </>
  );
}

function verdictOf(traces: TraceSession[]): string {
  const open = traces.filter(({ state }) => state === "open").length;
  const kept = traces.length === 1 ? "1 trace" : `${traces.length} traces`;
  return open ? `${kept}, ${open} in progress.` : `${kept}, none in progress.`;
}

function NoTraces() {
  return (
    <section class="card no-traces">
      <h2>No traces yet</h2>
      <p class="line">
        Trace all ranks of a job: <code>{START}</code>
        <Copy text={START} label="Copy command" />
      </p>
      <p class="line">
        Trainers need <code>KINETO_USE_DAEMON=1</code>. To set it for later jobs: <code>{ENABLE}</code>
        <Copy text={ENABLE} label="Copy command" />
      </p>
    </section>
  );
}
