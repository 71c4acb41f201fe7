// What the tones of the map mean.
import type { Colouring } from "../lib/gpu_map";

const ENDS: Record<Colouring | "cpu", [string, string]> = {
  cpu: ["0", "100% CPU"],
  holder: ["free", "held, a tone a holder"],
  working: ["free", "working"],
  sm: ["0", "100% SM"],
  memory: ["0", "100% used"],
  power: ["0", "limit"],
  temperature: ["25 °C", "90 °C"],
  health: ["well", ""],
};

export function MapLegend({ by }: { by: Colouring | "cpu" }) {
  const [low, high] = ENDS[by];
  return (
    <ul class="scale" aria-label="What the tones mean">
      <li>
        <i class="tone n0" /> {low}
      </li>
      {by === "working" && (
        <li>
          <i class="tone n2" /> held but idle
        </li>
      )}
      {high && (
        <li>
          {by !== "working" && <i class="tone ramp" />}
          {by === "working" && <i class="tone n5" />} {high}
        </li>
      )}
      <li>
        <i class="tone hatched" /> not known
      </li>
      <li>
        <i class="tone troubled" /> trouble
      </li>
    </ul>
  );
}
