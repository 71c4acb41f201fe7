// Whose a GPU was when: bars on the axis of the charts, with the same cursor and zoom.
import { useEffect, useRef } from "preact/hooks";
import { useWidth } from "../lib/element_size";
import { useStore } from "../lib/store";
import { AROUND, RIGHT, strip, TICKS } from "../lib/strip";
import { theme } from "../lib/theme";
import { clock, type Range, span } from "../lib/time";
import type { Allocation, EventRow } from "../lib/types";
import { go, here, link, path } from "../lib/url";

const LANE = 26; // pixels
const GUTTER = 16;
const MIN_WIDTH = 3;

interface Bar {
  held: Allocation;
  begin: number;
  end: number;
  lane: number;
}

export function Timeline({
  holders,
  range,
  events,
}: {
  holders: Allocation[];
  range: Range;
  events: EventRow[];
}) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const bars = laid(holders, range);
  const lanes = Math.max(1, ...bars.map((bar) => bar.lane + 1));
  return (
    <div ref={box} class="timeline">
      {width > 0 && <Strip key={lanes} width={width} height={lanes * LANE} range={range} events={events} />}
      <ul>
        {bars.map((bar) => (
          <One
            key={`${bar.held.kind} ${bar.held.id} ${bar.held.from_ms}`}
            bar={bar}
            range={range}
            width={width}
          />
        ))}
      </ul>
      {bars.length === 0 && <p class="calm">Nobody that a source knows of held it in this time.</p>}
    </div>
  );
}

function One({ bar, range, width }: { bar: Bar; range: Range; width: number }) {
  const { held, begin, end, lane } = bar;
  const earlier = held.from_ms < begin;
  const scale = (width - GUTTER - RIGHT) / (range.to - range.from);
  const style = {
    left: `${GUTTER + (begin - range.from) * scale}px`,
    width: `${Math.max(MIN_WIDTH, (end - begin) * scale - 1)}px`,
    top: `${TICKS + lane * LANE + 2}px`,
  };
  return (
    <li style={style}>
      <a class={`${held.kind} ${earlier ? "earlier" : ""}`} href={target(held)} title={words(held, range)}>
        {held.kind !== "job" && <span class="aside">{held.kind} </span>}
        {held.name || held.id} <span class="aside">{held.user}</span>
        {earlier && <span class="aside">{` since ${clock(held.from_ms, range.to)}`}</span>}
      </a>
    </li>
  );
}

/** The axis, the cursor and the ticks behind the bars. */
function Strip({
  width,
  height,
  range,
  events,
}: {
  width: number;
  height: number;
  range: Range;
  events: EventRow[];
}) {
  const box = useRef<HTMLDivElement>(null);
  const look = useStore(theme);
  useEffect(() => {
    const times = [range.from / 1000, range.to / 1000];
    const shown = { times, height, gutter: GUTTER, range, events, draw: () => undefined };
    const zoom = (from: number, to: number) => go(here({ from, to, at: null }));
    const drawn = strip(box.current!, width, shown, { cursor: () => undefined, zoom });
    return () => drawn.destroy();
  }, [width, height, look, range.from, range.to, events]);
  return <div ref={box} style={{ minHeight: `${height + AROUND}px` }} />;
}

/** Place each holder in the first lane that is free from its begin on. */
function laid(holders: Allocation[], range: Range): Bar[] {
  const ends: number[] = [];
  const bars: Bar[] = [];
  for (const held of [...holders].sort((a, b) => a.from_ms - b.from_ms)) {
    const begin = Math.max(held.from_ms, range.from);
    const end = Math.min(held.to_ms ?? range.to, range.to);
    if (end <= begin) continue;
    const free = ends.findIndex((busy) => busy <= begin);
    const lane = free < 0 ? ends.length : free;
    ends[lane] = end;
    bars.push({ held, begin, end, lane });
  }
  return bars;
}

function target(held: Allocation): string {
  if (held.kind === "job") return link(path("job", held.id));
  return held.user ? link(path("user", held.user)) : link("users");
}

function words(held: Allocation, range: Range): string {
  const end = held.to_ms === null ? "still" : `to ${clock(held.to_ms, range.to)}`;
  const long = span(((held.to_ms ?? range.to) - held.from_ms) / 1000);
  return `${held.kind} ${held.id} ${held.name}, ${held.user}: from ${clock(held.from_ms, range.to)} ${end}, ${long}`;
}
