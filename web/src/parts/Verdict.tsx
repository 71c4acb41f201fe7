// One sentence that says whether anybody is needed.
import type { Verdict as Said } from "../lib/types";
import { Mark } from "./Mark";

export function Verdict({ verdict }: { verdict: Said }) {
  return (
    <p class={`verdict ${verdict.state}`} role="status">
      <Mark state={verdict.state} />
      {verdict.sentence}
    </p>
  );
}
