// GPU-hours a day: how many were held, and how many of them were worked.
import type { UserPage } from "../lib/types";
import { formatValue } from "../lib/units";
import { Missing } from "./Absent";

const DAY = new Intl.DateTimeFormat("en-GB", {
  weekday: "short",
  day: "numeric",
  month: "short",
  timeZone: "UTC",
});

export function DayBars({ days }: { days: UserPage["days"] }) {
  const most = Math.max(1e-9, ...days.map(({ held }) => held ?? 0));
  return (
    <table class="days">
      <thead class="unseen">
        <tr>
          <th>Day</th>
          <th>Share</th>
          <th>Held and worked</th>
        </tr>
      </thead>
      <tbody>
        {days.map(({ day, held, worked }) => (
          <tr key={day}>
            <th scope="row">{DAY.format(new Date(day))}</th>
            <td>
              <span class="day-bar" style={{ width: `${(100 * (held ?? 0)) / most}%` }}>
                {worked !== null && held ? (
                  <span style={{ width: `${Math.min(100, (100 * worked) / held)}%` }} />
                ) : null}
              </span>
            </td>
            <td class="right">
              <Hours held={held} worked={worked} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Hours({ held, worked }: { held: number | null; worked: number | null }) {
  if (!held) return held === null ? <Missing why="not known" /> : <>none held</>;
  const used = worked === null ? "work not measured" : `${formatValue(round(worked), "")} worked`;
  return <>{`${formatValue(round(held), "")} held, ${used}`}</>;
}

function round(hours: number): number {
  return Math.round(hours * 10) / 10;
}
