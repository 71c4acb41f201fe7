// At most six numbers that open a page, each with its day.
import type { ComponentChildren } from "preact";
import type { Stat } from "../lib/types";
import { quantity } from "../lib/units";
import { link } from "../lib/url";
import { Sparkline } from "./Sparkline";
import { Value } from "./Value";

export function Numbers({ numbers }: { numbers: Stat[] }) {
  const { told, absent } = sorted(numbers);
  return (
    <dl class="numbers">
      {told.map((number) => (
        <One key={number.key} number={number} />
      ))}
      {absent.map(([reason, labels]) => (
        <div key={reason} class="number folded">
          <dt>{labels.join(", ")}</dt>
          <dd>
            <Value value={null} unit="" why={reason} />
            <p class="reason">{reason}</p>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Return the numbers that stand for themselves, and those that are absent for one reason: it is said once. */
function sorted(numbers: Stat[]): { told: Stat[]; absent: [string, string[]][] } {
  const reasons = new Map<string, string[]>();
  for (const { value, reason, label } of numbers)
    if (value === null && reason) reasons.set(reason, [...(reasons.get(reason) ?? []), label]);
  const absent = [...reasons].filter(([, labels]) => labels.length > 1);
  const folded = new Set(absent.map(([reason]) => reason));
  return { told: numbers.filter(({ value, reason }) => value !== null || !folded.has(reason)), absent };
}

function One({ number }: { number: Stat }) {
  const { value, of, unit, state, query, reason } = number;
  const [label, ...more] = number.label.split(", "); // "Jobs running, 4 waiting"
  return (
    <div class={`number ${state}`}>
      <dt>{label}</dt>
      <dd>
        <Leading query={query} label={label ?? ""}>
          <Value value={value} unit={unit} why={reason} />
        </Leading>
        {of !== null && value !== null && <span class="of"> of {whole(of, unit)}</span>}
        {more.length > 0 && <span class="of">{more.join(", ")}</span>}
        {reason && <p class="reason">{reason}</p>}
      </dd>
      {query && (
        <dd class="day">
          <Sparkline promql={query} />
        </dd>
      )}
    </div>
  );
}

/** What is measured leads to its graph. */
function Leading({ query, label, children }: { query: string; label: string; children: ComponentChildren }) {
  if (!query) return children;
  return (
    <a href={link("explore", { query })} title={`${label} over time`}>
      {children}
    </a>
  );
}

function whole(value: number, unit: string): string {
  const { text, unit: of } = quantity(value, unit);
  return of && of !== "%" ? `${text} ${of}` : `${text}${of}`;
}
