// How every page about one thing opens: the verdict, the numbers, and what was found.
import type { Attention, Num, Verdict as Said } from "../lib/types";
import { AttentionList } from "./Attention";
import { Numbers } from "./Numbers";
import { Verdict } from "./Verdict";

type Opens = { verdict: Said; numbers: Num[]; attention: Attention[] };

export function Opening({ outlook }: { outlook: Opens }) {
  return (
    <>
      <Verdict verdict={outlook.verdict} />
      <Numbers numbers={outlook.numbers} />
      {outlook.attention.length > 0 && (
        <section class="card">
          <h2>What was found</h2>
          <AttentionList items={outlook.attention} calm="" />
        </section>
      )}
    </>
  );
}
