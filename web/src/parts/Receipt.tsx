// What a job cost, and what it made of that.
import type { ReceiptLine } from "../lib/types";
import { formatValue } from "../lib/units";
import { Absent, Missing } from "./Absent";

export function Receipt({ costs }: { costs: ReceiptLine[] }) {
  if (!costs.length) return <Absent>It holds no GPU, so there is nothing to reckon.</Absent>;
  return (
    <dl class="receipt">
      {costs.map(({ label, value, unit, reason }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>
            {value === null ? <Missing why={reason} /> : formatValue(value, "")}{" "}
            <span class="aside">{value === null ? reason : unit}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}
