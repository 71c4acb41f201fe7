// A table of which the first rows are shown until somebody asks for all.
import { useState } from "preact/hooks";
import { type Column, Table } from "./Table";

const FIRST_ROWS = 8;

export function ExpandableTable<T>(props: {
  name: string;
  columns: Column<T>[];
  rows: T[];
  id: (row: T) => string;
}) {
  const [all, setAll] = useState(false);
  const { rows } = props;
  return (
    <div>
      <Table {...props} rows={all ? rows : rows.slice(0, FIRST_ROWS)} />
      {!all && rows.length > FIRST_ROWS && (
        <button type="button" class="button below" onClick={() => setAll(true)}>
          Show all {rows.length}
        </button>
      )}
    </div>
  );
}
