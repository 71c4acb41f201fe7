// How every page about one thing opens: the verdict, the numbers, and what was found.
import type { IncidentRow, Verdict as PageVerdict, Stat } from "../lib/types";
import { IncidentList } from "./IncidentList";
import { Numbers } from "./Numbers";
import { Verdict } from "./Verdict";

type Summarized = { verdict: PageVerdict; numbers: Stat[]; incidents: IncidentRow[] };

export function PageSummary({ page }: { page: Summarized }) {
  return (
    <>
      <Verdict verdict={page.verdict} />
      <Numbers numbers={page.numbers} />
      {page.incidents.length > 0 && (
        <section class="card">
          <h2>What was found</h2>
          <IncidentList items={page.incidents} calm="" />
        </section>
      )}
    </>
  );
}
