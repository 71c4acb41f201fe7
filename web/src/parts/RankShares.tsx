// One row a rank: where its time went as a stacked bar, and when as a timeline; the slow rank first.
import { useEffect, useRef, useState } from "preact/hooks";
import { useWidth } from "../lib/element_size";
import { useStore } from "../lib/store";
import { colour, theme } from "../lib/theme";
import { KINDS, nameOf, type RankSummary } from "../lib/traces";
import type { Share, Span } from "../lib/types";
import { formatValue } from "../lib/units";

const FIRST_ROWS = 12; // rows before "show all"
const HEIGHT = 16; // pixels

export function RankShares({ ranks, slow }: { ranks: RankSummary[]; slow: number | null }) {
  const [all, setAll] = useState(false);
  const shown = all ? ranks : ranks.slice(0, FIRST_ROWS);
  return (
    <>
      <Legend ranks={ranks} />
      <ul class="rank-shares">
        {shown.map(({ rank, summary }) => (
          <li key={nameOf(rank)} class={rank.rank !== null && rank.rank === slow ? "slow" : ""}>
            <span class="rank-name">
              {nameOf(rank)} <span class="aside">{rank.node}</span>
            </span>
            <ShareBar shares={summary.shares} />
            <TimeStrip spans={summary.timeline} seconds={summary.window_seconds} />
          </li>
        ))}
      </ul>
      {ranks.length > shown.length && (
        <button type="button" class="button below" onClick={() => setAll(true)}>
          Show all {ranks.length} ranks
        </button>
      )}
    </>
  );
}

/** The kinds that occur, each with its color. */
function Legend({ ranks }: { ranks: RankSummary[] }) {
  const found = new Set(ranks.flatMap(({ summary }) => summary.shares.filter(seen).map(({ kind }) => kind)));
  return (
    <ul class="kinds" aria-label="Kinds of time">
      {Object.entries(KINDS)
        .filter(([kind]) => found.has(kind))
        .map(([kind, words]) => (
          <li key={kind}>
            <i class={`kind-${kind}`} /> {words}
          </li>
        ))}
    </ul>
  );
}

function seen({ ratio }: Share): boolean {
  return ratio > 0;
}

function ShareBar({ shares }: { shares: Share[] }) {
  const told = shares.filter(seen);
  const words = told
    .map(({ kind, ratio }) => `${KINDS[kind] ?? kind} ${formatValue(ratio, "ratio")}`)
    .join(", ");
  return (
    <span class="share-bar" role="img" aria-label={words} title={words}>
      {told.map(({ kind, ratio }) => (
        <i key={kind} class={`kind-${kind}`} style={{ width: `${ratio * 100}%` }} />
      ))}
    </span>
  );
}

function TimeStrip({ spans, seconds }: { spans: Span[]; seconds: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(canvas);
  const look = useStore(theme);
  const [hint, setHint] = useState("");
  useEffect(() => {
    if (width > 0) draw(canvas.current!, width, spans, seconds);
  }, [width, look, spans, seconds]);
  const point = (event: MouseEvent) => {
    const at = (event.offsetX / width) * seconds;
    const span = spans.find(([start, end]) => start <= at && at < end);
    setHint(
      span
        ? `${KINDS[span[2]] ?? span[2]}, ${formatValue(span[1] - span[0], "seconds")} at ${formatValue(span[0], "seconds")}`
        : "",
    );
  };
  return (
    <canvas
      ref={canvas}
      class="time-strip"
      title={hint}
      onMouseMove={point}
      role="img"
      aria-label={`Timeline of ${formatValue(seconds, "seconds")}`}
    />
  );
}

function draw(canvas: HTMLCanvasElement, width: number, spans: Span[], seconds: number): void {
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = HEIGHT * scale;
  const pen = canvas.getContext("2d");
  if (!pen) return;
  for (const [start, end, kind] of spans) {
    pen.fillStyle = colour(`kind-${kind}`);
    pen.fillRect(
      (start / seconds) * canvas.width,
      0,
      ((end - start) / seconds) * canvas.width,
      canvas.height,
    );
  }
}
