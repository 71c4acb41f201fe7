// One sentence that says whether anybody is needed.
import type { Verdict as PageVerdict } from "../lib/types";
import { StateIcon } from "./StateIcon";

export function Verdict({ verdict }: { verdict: PageVerdict }) {
  return (
    <p class={`verdict ${verdict.state}`} role="status">
      <StateIcon state={verdict.state} />
      {verdict.sentence}
    </p>
  );
}
