// How every page about one thing opens: the verdict, the numbers, and what was found.
import type { Incident, Num, Verdict as Said } from "../lib/types";
import { IncidentList } from "./Incidents";
import { Numbers } from "./Numbers";
import { Verdict } from "./Verdict";

type Opens = { verdict: Said; numbers: Num[]; incidents: Incident[] };

export function Opening({ page }: { page: Opens }) {
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
