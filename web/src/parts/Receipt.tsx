// What a job cost, and what it made of that.
import type { Cost } from "../lib/pages";
import { said } from "../lib/units";
import { Absent, Missing } from "./Absent";

export function Receipt({ costs }: { costs: Cost[] }) {
  if (!costs.length) return <Absent>It holds no GPU, so there is nothing to reckon.</Absent>;
  return (
    <dl class="receipt">
      {costs.map(({ label, value, unit, reason }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>
            {value === null ? <Missing why={reason} /> : said(value, "")}{" "}
            <span class="aside">{value === null ? reason : unit}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}
