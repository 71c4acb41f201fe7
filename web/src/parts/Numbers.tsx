// At most six numbers that open a page, each with its day.
import type { Num } from "../lib/types";
import { quantity } from "../lib/units";
import { Spark } from "./Spark";
import { Value } from "./Value";

export function Numbers({ numbers }: { numbers: Num[] }) {
  return (
    <dl class="numbers">
      {numbers.map((number) => (
        <One key={number.key} number={number} />
      ))}
    </dl>
  );
}

function One({ number }: { number: Num }) {
  const { value, of, unit, state, query, reason } = number;
  const [label, ...more] = number.label.split(", "); // "Jobs running, 4 waiting"
  return (
    <div class={`number ${state}`}>
      <dt>{label}</dt>
      <dd>
        <Value value={value} unit={unit} why={reason} />
        {of !== null && value !== null && <span class="of"> of {whole(of, unit)}</span>}
        {more.length > 0 && <span class="of">{more.join(", ")}</span>}
        {reason && <p class="reason">{reason}</p>}
        {query && <Spark promql={query} />}
      </dd>
    </div>
  );
}

function whole(value: number, unit: string): string {
  const { text, unit: of } = quantity(value, unit);
  return of && of !== "%" ? `${text} ${of}` : `${text}${of}`;
}
