// What opens a page: which thing this is, a line of facts about it, and the same as a command.
import type { ComponentChildren } from "preact";
import { CopyAs } from "./CopyAs";

/** A fact with its name before it. */
export interface Fact {
  label: string;
  value: ComponentChildren;
}

export function PageHeader({
  title,
  kind = "",
  command,
  facts = [],
}: {
  title: string;
  kind?: string;
  command: string;
  facts?: (Fact | null)[];
}) {
  const shown = facts.filter((fact) => fact !== null);
  return (
    <header class="head">
      <h1>
        {kind && <span class="kind">{kind} </span>}
        {title}
      </h1>
      <CopyAs command={command} />
      {shown.length > 0 && (
        <ul class="facts">
          {shown.map(({ label, value }) => (
            <li key={label}>
              <span class="aside">{label} </span>
              {value}
            </li>
          ))}
        </ul>
      )}
    </header>
  );
}
