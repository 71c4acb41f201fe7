// A day in one small line.
import { useEffect, useState } from "preact/hooks";
import { useNow } from "../lib/heartbeat";
import { over } from "../lib/prom";

const WIDTH = 120;
const HEIGHT = 26;
const STEP = 900; // seconds
const DAY = 86_400_000;

function path(values: (number | null)[]): string {
  const known = values.filter((value) => value !== null);
  const least = Math.min(0, ...known);
  const most = Math.max(...known, least + 1e-9);
  let drawn = "";
  let broken = true;
  values.forEach((value, i) => {
    if (value === null) {
      broken = true;
      return;
    }
    const x = ((i / (values.length - 1)) * WIDTH).toFixed(1);
    const y = (HEIGHT - 2 - ((value - least) / (most - least)) * (HEIGHT - 4)).toFixed(1);
    drawn += `${broken ? "M" : "L"}${x} ${y}`;
    broken = false;
  });
  return drawn;
}

export function Sparkline({ promql }: { promql: string }) {
  const now = Math.floor(useNow() / STEP / 1000) * STEP * 1000;
  const [values, setValues] = useState<(number | null)[]>([]);
  useEffect(() => {
    if (!promql || !now) return;
    const stop = new AbortController();
    over(promql, now - DAY, now, STEP, stop.signal)
      .then(({ series }) => setValues(series[0]?.values ?? []))
      .catch(() => undefined); // the number above stands without it
    return () => stop.abort();
  }, [promql, now]);
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <path class="ground" d={`M0 ${HEIGHT - 0.5}H${WIDTH}`} />
      {values.length > 1 && <path d={path(values)} />}
    </svg>
  );
}
