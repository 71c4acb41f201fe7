// What a node should have, and what it has.
import type { NodePage } from "../lib/types";
import { formatValue } from "../lib/units";
import { Absent, Missing } from "./Absent";
import { type Column, Table } from "./Table";

interface Item {
  name: string;
  expected: string;
  present: string;
  missing: boolean;
}

function shown(name: string, text: string): string {
  return name.endsWith("_bytes") && text ? formatValue(Number(text), "bytes") : text;
}

const COLUMNS: Column<Item>[] = [
  {
    key: "name",
    head: "What",
    by: ({ name }) => name,
    cell: ({ name }) => name.replace(/_bytes$/, "").replaceAll("_", " "),
  },
  {
    key: "expected",
    head: "Expected",
    cell: ({ name, expected }) => shown(name, expected) || <span class="aside">anything</span>,
  },
  {
    key: "present",
    head: "Present",
    cell: ({ name, present, missing }) => (
      <span class={missing ? "trouble" : ""}>{shown(name, present) || <Missing why="not told" />}</span>
    ),
  },
];

export function Inventory({ node }: { node: NodePage["node"] }) {
  const names = [...new Set([...Object.keys(node.expected), ...Object.keys(node.inventory)])];
  const items = names.map((name) => ({
    name,
    expected: node.expected[name] ?? "",
    present: node.inventory[name] ?? "",
    missing: name in node.expected && node.expected[name] !== node.inventory[name],
  }));
  if (!items.length) return <Absent>The node has not told what it has.</Absent>;
  return (
    <>
      {node.missing.length > 0 && <p class="trouble">{node.missing.join("; ")}</p>}
      <Table name="inventory" columns={COLUMNS} rows={items} id={({ name }) => name} />
    </>
  );
}
