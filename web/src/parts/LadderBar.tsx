// How much of what is held does something: held > process > busy > SM, one within the other.
import type { JobLadder } from "../lib/types";

const STEPS = ["process", "busy", "sm"] as const;
const WORDS = { process: "with a process", busy: "busy", sm: "SM active" };

export function LadderBar({ ladder }: { ladder: JobLadder }) {
  const held = ladder.held;
  if (!held) return <span class="aside">no GPU</span>;
  const words = STEPS.map((step) => `${WORDS[step]} ${share(ladder[step], held)}`);
  const text = `of ${held} GPUs held: ${words.join(", ")}`;
  return (
    <span class="ladder" role="img" aria-label={text} title={text}>
      {STEPS.map((step) => {
        const value = ladder[step];
        if (value === null) return null;
        return <span key={step} class={step} style={{ width: `${(100 * value) / held}%` }} />;
      })}
    </span>
  );
}

export function share(value: number | null, held: number): string {
  return value === null ? "not measured" : `${Math.round((100 * value) / held)}%`;
}
