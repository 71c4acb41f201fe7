// The time range of all charts: the last while, or from here to there.
import { useRange } from "../lib/heartbeat";
import { clock, defaultFrom, type Range } from "../lib/time";
import { type Changes, go, here, usePlace } from "../lib/url";
import { Dropdown } from "../parts/Dropdown";

const LAST: [string, string][] = [
  ["now-15m", "15 min"],
  ["now-1h", "1 h"],
  ["now-3h", "3 h"],
  ["now-6h", "6 h"],
  ["now-12h", "12 h"],
  ["now-24h", "24 h"],
  ["now-2d", "2 days"],
  ["now-7d", "7 days"],
  ["now-30d", "30 days"],
];

type Set = (changes: Changes) => void;

export function TimeRange() {
  const { query } = usePlace();
  const range = useRange();
  const from = query.get("from") ?? defaultFrom();
  const named = range.live ? LAST.find(([value]) => value === from)?.[1] : undefined;
  const text = named ? `last ${named}` : `${clock(range.from, range.to)} to ${clock(range.to, range.to)}`;
  return (
    <Dropdown kind="range" label="Time range" text={text}>
      {(close) => {
        const set: Set = (changes) => {
          close();
          go(here({ at: null, ...changes }));
        };
        return (
          <>
            <Lasts named={named} set={set} />
            <FromTo range={range} set={set} />
            <Steps range={range} set={set} />
          </>
        );
      }}
    </Dropdown>
  );
}

function Lasts({ named, set }: { named: string | undefined; set: Set }) {
  return (
    <ul>
      {LAST.map(([value, label]) => (
        <li key={value}>
          <button
            type="button"
            aria-pressed={named === label}
            onClick={() => set({ from: value === defaultFrom() ? null : value, to: null })}
          >
            last {label}
          </button>
        </li>
      ))}
    </ul>
  );
}

function FromTo({ range, set }: { range: Range; set: Set }) {
  const show = (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    set({ from: Date.parse(String(data.get("from"))), to: Date.parse(String(data.get("to"))) });
  };
  return (
    <form onSubmit={show}>
      <label>
        From <input type="datetime-local" name="from" required defaultValue={local(range.from)} />
      </label>
      <label>
        To <input type="datetime-local" name="to" required defaultValue={local(range.to)} />
      </label>
      <button type="submit">Show</button>
    </form>
  );
}

function Steps({ range: { from, to }, set }: { range: Range; set: Set }) {
  const by = (left: number, right: number) => () =>
    set({ from: Math.round(from + left * (to - from)), to: Math.round(to + right * (to - from)) });
  return (
    <div class="steps">
      <button type="button" onClick={by(-0.5, -0.5)}>
        Earlier
      </button>
      <button type="button" onClick={by(0.5, 0.5)}>
        Later
      </button>
      <button type="button" onClick={by(0.25, -0.25)}>
        Zoom in
      </button>
      <button type="button" onClick={by(-0.5, 0.5)}>
        Zoom out
      </button>
    </div>
  );
}

/** Return a moment as an input of the kind datetime-local takes it. */
function local(ms: number): string {
  const shifted = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}
