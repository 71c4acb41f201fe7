// Questions in PromQL, and their answers laid on one time axis.
import { fetchJson } from "./api";
import { enqueue } from "./request_queue";

export type Labels = Record<string, string>;

export interface Sample {
  labels: Labels;
  value: number;
}

export interface Series {
  labels: Labels;
  values: (number | null)[];
}

export interface Matrix {
  times: number[]; // seconds
  series: Series[];
}

interface Wire<T> {
  data: { resultType: string; result: T };
}

type Ranges = Wire<{ metric: Labels; values: [number, string][] }[]>;

const SCRAPE = 15; // seconds between samples, at least as long as any of ours

/** Return the step in seconds for a range on so many pixels. */
export function stepFor(from: number, to: number, width: number): number {
  const fine = (to - from) / 1000 / Math.max(width / 2, 100);
  const nice = [5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400];
  return nice.find((step) => step >= Math.max(fine, SCRAPE)) ?? 86_400;
}

/** Return how far a rate looks back, as Grafana's $__rate_interval does. */
export function rateInterval(step: number): string {
  return `${Math.max(step + SCRAPE, 4 * SCRAPE)}s`;
}

export async function instant(promql: string, at: number, signal?: AbortSignal): Promise<Sample[]> {
  const body = new URLSearchParams({ query: promql, time: String(at / 1000) });
  const { data } = await enqueue(() => fetchJson<Wire<unknown>>("api/v1/query", signal, body), signal);
  if (data.resultType === "scalar") {
    return [{ labels: {}, value: number((data.result as [number, string])[1]) }];
  }
  if (data.resultType !== "vector") throw new Error(`this is a ${data.resultType}, not a vector`);
  const result = data.result as { metric: Labels; value: [number, string] }[];
  return result.map(({ metric, value }) => ({ labels: metric, value: number(value[1]) }));
}

/** Return series over a range; a moment without a sample is null. */
export async function over(
  promql: string,
  from: number,
  to: number,
  step: number,
  signal?: AbortSignal,
): Promise<Matrix> {
  const start = Math.ceil(from / 1000 / step) * step;
  const end = Math.max(start, Math.floor(to / 1000 / step) * step);
  const body = new URLSearchParams({
    query: promql,
    start: String(start),
    end: String(end),
    step: String(step),
  });
  const { data } = await enqueue(() => fetchJson<Ranges>("api/v1/query_range", signal, body), signal);
  const count = Math.round((end - start) / step) + 1;
  const times = Array.from({ length: count }, (_, i) => start + i * step);
  const series = data.result.map(({ metric, values }) => {
    const laid = new Array<number | null>(count).fill(null);
    for (const [time, text] of values) {
      const value = number(text);
      if (Number.isFinite(value)) laid[Math.round((time - start) / step)] = value;
    }
    return { labels: metric, values: laid };
  });
  return { times, series };
}

function number(text: string): number {
  if (text === "+Inf") return Number.POSITIVE_INFINITY;
  return text === "-Inf" ? Number.NEGATIVE_INFINITY : Number(text);
}

/** Return a series' name by its legend: {{gpu}} stands for a label; without one, its labels. */
export function formatName(labels: Labels, legend: string): string {
  if (legend) return legend.replace(/\{\{\s*([^}\s]+)\s*\}\}/g, (_, name: string) => labels[name] ?? "");
  const { __name__: name = "", ...others } = labels;
  const pairs = Object.entries(others).map(([key, value]) => `${key}="${value}"`);
  return pairs.length ? `${name}{${pairs.join(", ")}}` : name || "value";
}
