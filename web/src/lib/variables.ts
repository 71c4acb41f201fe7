// A dashboard's variables: what may be chosen, what is chosen, and how that stands in PromQL.
import { useEffect, useState } from "preact/hooks";
import { fetchJson } from "./api";
import { rateInterval } from "./prom";
import type { Range } from "./time";
import type { Variable } from "./types";
import { go, here, usePlace } from "./url";

export type Values = Record<string, string>; // as they stand in PromQL

export const ALL = "";

/** Return PromQL with its variables filled in. */
export function fillVariables(promql: string, values: Values, step: number, range: Range): string {
  const own: Values = {
    ...values,
    __rate_interval: rateInterval(step),
    __interval: `${step}s`,
    __range: `${Math.round((range.to - range.from) / 1000)}s`,
  };
  return promql.replace(/\$(?:\{(\w+)\}|(\w+))/g, (whole, braced, plain) => own[braced ?? plain] ?? whole);
}

/** Return a text as a pattern that matches it alone, as it stands in a quoted PromQL string. */
export function pattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\\/g, "\\\\");
}

export interface Choice {
  variable: Variable;
  options: string[];
  chosen: string[]; // none is all
  choose: (values: string[]) => void;
}

function chosenOf(variable: Variable, query: URLSearchParams): string[] {
  const text = query.get(`var-${variable.name}`) ?? variable.default;
  return text ? text.split(",") : [];
}

function asPattern(variable: Variable, chosen: string[], options: string[]): string {
  if (chosen.length) return chosen.map(variable.choices.length ? (text) => text : pattern).join("|");
  if (variable.multi) return variable.optional ? ".*" : ".+";
  const first = options[0] ?? "";
  return variable.choices.length ? first : pattern(first);
}

/** Return the choices of a dashboard and their values; null until the options that others need are known. */
export function useVariables(
  variables: Variable[],
  fixed: Values,
  range: Range,
): { choices: Choice[]; values: Values | null } {
  const { query } = usePlace();
  const [options, setOptions] = useState<Record<string, string[]>>({});
  const free = variables.filter(({ name }) => !(name in fixed));
  const key = `${free.map(({ name, metric }) => name + metric).join()} ${free.map((v) => query.get(`var-${v.name}`)).join()} ${Math.floor(range.to / 300_000)}`;
  useEffect(() => {
    const stop = new AbortController();
    void found(free, fixed, query, range, stop.signal).then((all) => !stop.signal.aborted && setOptions(all));
    return () => stop.abort();
  }, [key]);
  const choices = free.map((variable) => ({
    variable,
    options: options[variable.name] ?? [...variable.choices],
    chosen: chosenOf(variable, query),
    choose: (values: string[]) => go(here({ [`var-${variable.name}`]: values.join(",") })),
  }));
  const known = free.every(
    (v) => v.multi || chosenOf(v, query).length || v.choices.length || options[v.name],
  );
  const values: Values = { ...fixed };
  for (const { variable, chosen, options } of choices)
    values[variable.name] = asPattern(variable, chosen, options);
  return { choices, values: known ? values : null };
}

async function found(
  variables: Variable[],
  fixed: Values,
  query: URLSearchParams,
  range: Range,
  signal: AbortSignal,
): Promise<Record<string, string[]>> {
  const values: Values = { ...fixed };
  const all: Record<string, string[]> = {};
  for (const variable of variables) {
    const options = variable.choices.length
      ? [...variable.choices]
      : await optionsOf(variable, values, range, signal).catch(() => []);
    all[variable.name] = options;
    values[variable.name] = asPattern(variable, chosenOf(variable, query), options);
  }
  return all;
}

async function optionsOf(
  { metric, by }: Variable,
  values: Values,
  range: Range,
  signal: AbortSignal,
): Promise<string[]> {
  const parameters = new URLSearchParams({
    "match[]": fillVariables(metric, values, 60, range),
    start: String(range.from / 1000),
    end: String(range.to / 1000),
  });
  const { data } = await fetchJson<{ data: string[] }>(`api/v1/label/${by}/values?${parameters}`, signal);
  return data.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
}
