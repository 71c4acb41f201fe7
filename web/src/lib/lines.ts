// What a chart draws of the series it gets: a few lines, or the median with a band and the odd ones by name.
import { formatName, type Labels, type Matrix } from "./prom";
import type { Panel, PanelQuery, Threshold } from "./types";

export interface Line {
  name: string;
  labels: Labels;
  values: (number | null)[];
  odd?: boolean;
  state?: Threshold["state"]; // what it tells of is wrong while it has values
  band?: Band; // of which it is the median
}

export interface Band {
  low: (number | null)[];
  high: (number | null)[];
}

export interface Drawing {
  times: number[];
  lines: Line[];
  bands: Band[];
  stacked: boolean;
}

const MOST_LINES = 8; // more than that nobody can follow
const MOST_ODD = 3;

/** Return what is drawn of the answers to a panel's queries. */
export function drawingOf(panel: Panel, answers: Matrix[]): Drawing {
  const times = answers.find(({ times }) => times.length)?.times ?? [];
  const groups = answers.map((answer, i) => linesOf(answer, panel.queries[i]));
  const count = groups.reduce((sum, lines) => sum + lines.length, 0);
  const stacked = panel.stack && count > 1;
  const most = panel.kind === "band" ? 2 : MOST_LINES;
  if (stacked || count <= most) return { times, lines: groups.flat(), bands: [], stacked };
  return { times, ...asBands(panel, groups, times), stacked: false };
}

function linesOf(answer: Matrix, query: PanelQuery | undefined): Line[] {
  const { legend = "", state = "" } = query ?? {};
  return answer.series
    .map(({ labels, values }) => ({
      name: formatName(labels, legend),
      labels,
      values,
      ...(state ? { state } : {}),
    }))
    .sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

/** Each query with many series becomes a median in its band; a single one, such as a limit, stays a line. */
function asBands(panel: Panel, groups: Line[][], times: number[]): Pick<Drawing, "lines" | "bands"> {
  const lines: Line[] = [];
  const odd: Line[] = [];
  const bands: Band[] = [];
  groups.forEach((group, i) => {
    if (group.length < 3) {
      lines.push(...group);
      return;
    }
    const legend = panel.queries[i]?.legend ?? "";
    const what =
      groups.length > 1
        ? legend
            .replace(/\{\{[^}]*\}\}/g, "")
            .replace(/[\s:,]+$/, "")
            .trim()
        : "";
    const { median, band } = banded(times, group);
    const name = `${what ? `${what}, ` : ""}median of ${group.length}`;
    lines.push({ name, labels: {}, values: median, band });
    bands.push(band);
    odd.push(...oddOnes(group, median));
  });
  return { lines: [...lines, ...odd.slice(0, MOST_ODD)], bands };
}

function banded(times: number[], lines: Line[]): { median: (number | null)[]; band: Band } {
  const low: (number | null)[] = [];
  const high: (number | null)[] = [];
  const median: (number | null)[] = [];
  for (let i = 0; i < times.length; i++) {
    const known = lines.map(({ values }) => values[i] ?? null).filter((value) => value !== null);
    known.sort((a, b) => a - b);
    low.push(known[0] ?? null);
    high.push(known[known.length - 1] ?? null);
    median.push(known.length ? medianOf(known) : null);
  }
  return { median, band: { low, high } };
}

function medianOf(sorted: number[]): number {
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

/** Return the lines that keep far from the median, far being measured by how far the others keep. */
function oddOnes(lines: Line[], middle: (number | null)[]): Line[] {
  const far = lines.map((line) => ({ line, distance: distance(line.values, middle) }));
  const usual = medianOf(far.map(({ distance }) => distance).sort((a, b) => a - b));
  const size = Math.max(...middle.map((value) => Math.abs(value ?? 0)), 1e-12);
  return far
    .filter(({ distance }) => distance > Math.max(5 * usual, 0.15 * size))
    .sort((a, b) => b.distance - a.distance)
    .slice(0, MOST_ODD)
    .map(({ line }) => ({ ...line, odd: true }));
}

function distance(values: (number | null)[], middle: (number | null)[]): number {
  const apart = values
    .map((value, i) => (value === null || middle[i] == null ? null : Math.abs(value - middle[i])))
    .filter((value) => value !== null)
    .sort((a, b) => a - b);
  return apart.length ? apart[Math.floor(0.8 * (apart.length - 1))]! : 0; // odd for a fifth of the time is enough
}

/** Return lines as sums of those before them, for a stacked chart. */
export function stackedUp(lines: Line[]): (number | null)[][] {
  let below: (number | null)[] | null = null;
  return lines.map(({ values }) => {
    const on: (number | null)[] | null = below;
    const sum: (number | null)[] = values.map((value, i) => {
      const under = on?.[i] ?? null;
      return value === null ? under : value + (under ?? 0);
    });
    below = sum;
    return sum;
  });
}
