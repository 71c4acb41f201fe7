// How a node is, in a word, and why.
import type { NodeDetails } from "../lib/types";
import { StateIcon } from "./StateIcon";

const MARKS: Record<string, string> = { up: "ok", late: "warning", lost: "critical", stopped: "warning" };

export function NodeState({ node }: { node: Pick<NodeDetails, "state" | "why"> }) {
  return (
    <span class="node-state">
      <StateIcon state={MARKS[node.state] ?? "unknown"} />
      {node.state}
      {node.why && <span class="aside wrapping"> {node.why}</span>}
    </span>
  );
}
