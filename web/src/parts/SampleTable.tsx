// A panel, or an answer in Explore, as a table: a row for each set of labels, a column for each query.
import type { ComponentChildren } from "preact";
import { formatName, type Labels, type Sample } from "../lib/prom";
import type { Panel } from "../lib/types";
import { formatValue } from "../lib/units";
import { link, path } from "../lib/url";
import { reached } from "./Chart";
import { type Column, Table } from "./Table";

interface Row {
  key: string;
  labels: Labels;
  values: (number | null)[];
}

const MAX_ROWS = 200;
const HEADS: Record<string, string> = { __name__: "metric", instance: "node", holder: "held by" };

function rowsOf(samples: Sample[][]): Row[] {
  const rows = new Map<string, Row>();
  samples.forEach((some, i) => {
    for (const { labels, value } of some) {
      const { __name__: _, ...others } = labels;
      const shown = samples.length > 1 ? others : labels;
      const key = JSON.stringify(Object.entries(shown).sort());
      const row = rows.get(key) ?? { key, labels: shown, values: samples.map(() => null) };
      rows.set(key, row);
      row.values[i] = value;
    }
  });
  return [...rows.values()];
}

/** Return a label's value, as a link where the page knows what it names. */
function cellOf(name: string, { labels }: Row): ComponentChildren {
  const value = labels[name] ?? "";
  if (!value) return "";
  if (name === "instance") return <a href={link(path("node", value))}>{value}</a>;
  if (name === "gpu" && labels.instance)
    return <a href={link(path("gpu", labels.instance, value))}>{value}</a>;
  if (name === "user") return <a href={link(path("user", value))}>{value}</a>;
  if (name === "holder" && labels.kind === "job") return <a href={link(path("job", value))}>{value}</a>;
  return value;
}

function labelColumns(rows: Row[], legend: string): Column<Row>[] {
  if (legend.includes("{{")) {
    const name = ({ labels }: Row) => formatName(labels, legend);
    return [{ key: "name", head: "where", by: name, cell: (row) => linked(row, name(row)) }];
  }
  const names = [...new Set(rows.flatMap(({ labels }) => Object.keys(labels)))];
  return names.map((name) => ({
    key: name,
    head: HEADS[name] ?? name,
    by: (row) => row.labels[name] ?? null,
    cell: (row) => cellOf(name, row),
  }));
}

function linked({ labels: { instance, gpu } }: Row, name: string): ComponentChildren {
  if (!instance) return name;
  return <a href={link(gpu ? path("gpu", instance, gpu) : path("node", instance))}>{name}</a>;
}

export function SampleTable({ panel, samples }: { panel: Panel; samples: Sample[][] }) {
  const rows = rowsOf(samples);
  const { queries, thresholds } = panel;
  const legend = samples.length === 1 ? (queries[0]?.legend ?? "") : "";
  const told = rows.every(({ values }) => values.every((value) => value === 1)); // an info series says it all by its labels
  const info = told && /_info\b/.test(queries[0]?.promql ?? "");
  const values: Column<Row>[] = (info ? [] : samples).map((_, i) => ({
    key: `value${i}`,
    head: legend.includes("{{") ? "value" : queries[i]?.legend || "value",
    right: true,
    by: (row) => row.values[i] ?? null,
    cell: (row) => (
      <span class={`value ${reached(row.values[i] ?? null, thresholds)}`}>
        {formatValue(row.values[i], queries[i]?.unit || panel.unit)}
      </span>
    ),
  }));
  const columns = [...labelColumns(rows, legend), ...values];
  return (
    <>
      <Table name={panel.title} columns={columns} rows={rows.slice(0, MAX_ROWS)} id={(row) => row.key} />
      {rows.length > MAX_ROWS && <p class="aside">and {rows.length - MAX_ROWS} more rows</p>}
    </>
  );
}
