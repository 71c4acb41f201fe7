// A panel of bars, the longest first.
import { formatName, type Sample } from "../lib/prom";
import type { Panel } from "../lib/types";
import { formatValue } from "../lib/units";
import { reached } from "./Chart";

const MOST = 12;

export function Bars({ panel, samples }: { panel: Panel; samples: Sample[][] }) {
  const all = samples
    .flatMap((some, i) =>
      some.map(({ labels, value }) => ({ name: formatName(labels, panel.queries[i]?.legend ?? ""), value })),
    )
    .sort((a, b) => b.value - a.value);
  const most = Math.max(panel.ceiling ?? 0, ...all.map(({ value }) => value), 1e-12);
  return (
    <>
      <dl class="bars">
        {all.slice(0, MOST).map(({ name, value }) => (
          <div key={name} class={reached(value, panel.thresholds)}>
            <dt title={name}>{name}</dt>
            <dd>
              <span class="bar" style={{ width: `${Math.max(0, (100 * value) / most)}%` }} />
              <span class="value">{formatValue(value, panel.unit)}</span>
            </dd>
          </div>
        ))}
      </dl>
      {all.length > MOST && <p class="aside">and {all.length - MOST} smaller ones</p>}
    </>
  );
}
