// A panel that is one number, or a few with their names.
import { formatName, type Sample } from "../lib/prom";
import type { Panel } from "../lib/types";
import { reached } from "./Chart";
import { Value } from "./Value";

const MAX_NUMBERS = 6;

export function NumberPanel({ panel, samples }: { panel: Panel; samples: Sample[][] }) {
  const all = samples.flatMap((some, i) =>
    some.map(({ labels, value }) => ({ name: formatName(labels, panel.queries[i]?.legend ?? ""), value })),
  );
  return (
    <dl class="standing-numbers">
      {all.slice(0, MAX_NUMBERS).map(({ name, value }) => (
        <div key={name} class={reached(value, panel.thresholds)}>
          {all.length > 1 && <dt>{name}</dt>}
          <dd>
            <Value value={value} unit={panel.unit} />
          </dd>
        </div>
      ))}
      {all.length > MAX_NUMBERS && <p class="aside">and {all.length - MAX_NUMBERS} more</p>}
    </dl>
  );
}
