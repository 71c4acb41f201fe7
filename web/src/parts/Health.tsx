// The health of a GPU: what it reported by XID, with meaning and action, and the counts that should be zero.
import type { GpuPage, HealthRow } from "../lib/types";
import { formatValue } from "../lib/units";
import { Missing } from "./Absent";
import { EventTable } from "./EventTable";
import { StateIcon } from "./StateIcon";

export function Health({ health }: { health: GpuPage["health"] }) {
  return (
    <>
      <dl class="health">
        {health.facts.map((fact) => (
          <One key={fact.label} fact={fact} />
        ))}
      </dl>
      {health.xids.length ? (
        <EventTable events={health.xids} />
      ) : (
        <p class="calm">No XID has been reported of it.</p>
      )}
    </>
  );
}

function One({ fact }: { fact: HealthRow }) {
  const { label, value, unit, state, why } = fact;
  return (
    <div class={state}>
      <dt>{label}</dt>
      <dd>
        {value === null ? (
          <Missing why={why} />
        ) : typeof value === "number" ? (
          formatValue(value, unit)
        ) : (
          value
        )}
        {state !== "ok" && state !== "unknown" && <StateIcon state={state} />}
        {value !== null && why && <span class="aside"> {why}</span>}
      </dd>
    </div>
  );
}
