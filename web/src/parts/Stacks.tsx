// What the ranks of a job run right now: groups at the same place, the smallest first.
import type { StackFrame, StackGroup, StackReport } from "../lib/types";

export function Stacks({ report }: { report: StackReport }) {
  return (
    <section class="card">
      <h2>Stacks</h2>
      <p class="stack-sentence">{report.sentence}</p>
      {report.errors.length > 0 && (
        <ul class="remarks">
          {report.errors.map((error) => (
            <li key={error}>{error}</li>
          ))}
        </ul>
      )}
      <ul class="stack-groups">
        {report.groups.map((group) => (
          <Group key={group.ranks.join()} group={group} />
        ))}
      </ul>
      {report.shared_calls.length > 0 && (
        <details class="folded">
          <summary>Calls that all ranks share</summary>
          <Calls frames={report.shared_calls} />
        </details>
      )}
    </section>
  );
}

function Group({ group }: { group: StackGroup }) {
  const { ranks, activity, place, wait, workers, is_stuck } = group;
  return (
    <li>
      <h3>{`${ranks.length === 1 ? "Rank" : "Ranks"} ${ranks.join(", ")}: ${activity}`}</h3>
      <p class="meta">
        {[place && `at ${place}`, is_stuck && "no movement between samples", wait].filter(Boolean).join(", ")}
      </p>
      {workers.length > 0 && <p class="meta">{`Data-loader workers: ${workers.join(", ")}`}</p>}
      <Calls frames={group.calls} />
    </li>
  );
}

function Calls({ frames }: { frames: StackFrame[] }) {
  if (!frames.length) return null;
  const lines = frames.map((frame) => `${frame.function} (${frame.file}:${frame.line})`);
  return (
    <section class="calls" aria-label="Calls">
      <pre>{lines.join("\n")}</pre>
    </section>
  );
}
