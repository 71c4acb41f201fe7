// How a node is, in a word, and why.
import type { NodeRow } from "../lib/types";
import { Mark } from "./Mark";

const MARKS: Record<string, string> = { up: "ok", late: "warning", lost: "critical", stopped: "warning" };

export function NodeState({ node }: { node: NodeRow }) {
  return (
    <span class="node-state">
      <Mark state={MARKS[node.state] ?? "unknown"} />
      {node.state}
      {node.why && <span class="aside wrapping"> {node.why}</span>}
    </span>
  );
}
