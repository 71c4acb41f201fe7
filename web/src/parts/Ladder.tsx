// How much of what a job holds ends up as work, step by step, and what each step loses.
import type { LadderStep } from "../lib/types";
import { formatValue } from "../lib/units";

export function Ladder({ steps }: { steps: LadderStep[] }) {
  const held = steps[0]?.gpus ?? 0;
  return (
    <ol class="rungs" aria-label="From GPUs held to GPUs at work">
      {steps.map((step) => (
        <Rung key={step.step} step={step} held={held} />
      ))}
    </ol>
  );
}

function Rung({ step, held }: { step: LadderStep; held: number }) {
  const share = step.gpus === null || held <= 0 ? null : Math.min(1, step.gpus / held);
  return (
    <li class="rung">
      <span class="rung-name">{step.step}</span>
      <span class={share === null ? "rung-bar hatched" : "rung-bar"}>
        {share !== null && <span class="rung-fill" style={{ width: `${share * 100}%` }} />}
      </span>
      {share === null ? (
        <span class="rung-why">{step.reason || "not known"}</span>
      ) : (
        <>
          <span class="rung-value">
            {formatValue(step.gpus, "")} <small>of {formatValue(held, "")} GPUs</small>
          </span>
          <span class="rung-lost">{lost(step)}</span>
        </>
      )}
    </li>
  );
}

function lost(step: LadderStep): string {
  if (step.lost_gpu_hours === null) return "";
  return step.lost_gpu_hours < 0.05
    ? "nothing lost"
    : `${formatValue(step.lost_gpu_hours, "")} GPU-hours lost`;
}
