// A number with its unit standing back; absent is hatched.
import { quantity } from "../lib/units";
import { Missing } from "./Absent";

export function Value({
  value,
  unit,
  why = "",
}: {
  value: number | null | undefined;
  unit: string;
  why?: string;
}) {
  if (value === null || value === undefined) return <Missing why={why} />;
  const { text, unit: of } = quantity(value, unit);
  return (
    <span class="value">
      {text}
      {of && <span class="unit">{of === "%" ? "%" : `\u202f${of}`}</span>}
    </span>
  );
}
