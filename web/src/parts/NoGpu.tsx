// A machine on which no GPU was found: why, and what one can do.
import type { SourceRow } from "../lib/types";
import { Copy } from "./CopyAs";

const GPU_SOURCES = ["nvidia", "amdgpu"];

export function NoGpu({ sources }: { sources: SourceRow[] }) {
  const reasons = sources.filter(({ source, state }) => GPU_SOURCES.includes(source) && state !== "ok");
  return (
    <section class="card no-gpu">
      <h2>No GPU found here</h2>
      {reasons.length > 0 && (
        <ul>
          {reasons.map(({ source, reason }) => (
            <li key={source}>
              <code>{source}</code> {reason}
            </li>
          ))}
        </ul>
      )}
      <p class="line">
        To see a cluster with GPUs, simulated: <code>vigie demo</code>
        <Copy text="vigie demo" label="Copy" />
      </p>
      <p class="line">
        To watch another machine, on the server: <code>vigie nodes join</code>
        <Copy text="vigie nodes join" label="Copy" />
      </p>
    </section>
  );
}
