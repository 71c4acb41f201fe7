// A table that sorts by a click on a column's head; the order is part of the address.
import type { ComponentChildren } from "preact";
import { go, here, usePlace } from "../lib/url";

export interface Column<T> {
  key: string;
  head: string;
  cell: (row: T) => ComponentChildren;
  by?: (row: T) => number | string | null; // how it sorts; without it, it does not
  right?: boolean;
  narrow?: boolean; // left out on a phone
  block?: boolean; // has a line of its own there
}

export function Table<T>({
  name,
  columns,
  rows,
  id,
  first = "",
  marked,
  hover,
}: {
  name: string;
  columns: Column<T>[];
  rows: T[];
  id: (row: T) => string;
  first?: string; // the column it is sorted by, "-age" for downwards
  marked?: (row: T) => string;
  hover?: (row: T | null) => void;
}) {
  const order = usePlace().query.get(`sort-${name}`) ?? first;
  const sorted = sortedBy(rows, columns, order);
  return (
    <div class="scroll">
      <table class={columns.some(({ block }) => block) ? "table stacks" : "table"} aria-label={name}>
        <thead>
          <tr>
            {columns.map((column) => (
              <ColumnHead key={column.key} column={column} order={order} name={name} />
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.map((row) => (
            <tr
              key={id(row)}
              class={marked?.(row) ?? ""}
              onMouseEnter={() => hover?.(row)}
              onMouseLeave={() => hover?.(null)}
            >
              {columns.map((column) => (
                <td key={column.key} class={classes(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ColumnHead<T>({ column, order, name }: { column: Column<T>; order: string; name: string }) {
  const down = order === `-${column.key}`;
  const up = order === column.key;
  if (!column.by) {
    return (
      <th scope="col" class={classes(column)}>
        {column.head}
      </th>
    );
  }
  const next = down ? column.key : `-${column.key}`;
  return (
    <th scope="col" class={classes(column)} aria-sort={down ? "descending" : up ? "ascending" : "none"}>
      <button type="button" onClick={() => go(here({ [`sort-${name}`]: next }), true)}>
        {column.head}
        <span aria-hidden="true">{down ? " ↓" : up ? " ↑" : ""}</span>
      </button>
    </th>
  );
}

function classes<T>({ right, narrow, block }: Column<T>): string {
  return [right && "right", narrow && "narrow", block && "block"].filter(Boolean).join(" ");
}

function sortedBy<T>(rows: T[], columns: Column<T>[], order: string): T[] {
  const down = order.startsWith("-");
  const by = columns.find(({ key }) => key === order.replace(/^-/, ""))?.by;
  if (!by) return rows;
  const sign = down ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [by(a), by(b)];
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1; // absent comes last either way
    if (typeof x === "number" && typeof y === "number") return sign * (x - y);
    return sign * String(x).localeCompare(String(y), "en", { numeric: true });
  });
}
