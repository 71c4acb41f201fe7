// A counter that goes on while something runs, to ask for it again.
import { useEffect, useState } from "preact/hooks";

export interface Ticks {
  ticks: number;
  tick: () => void;
  setRunning: (running: boolean) => void;
}

export function useTicks(everyMs: number): Ticks {
  const [ticks, setTicks] = useState(0);
  const [running, setRunning] = useState(false);
  const tick = () => setTicks((n) => n + 1);
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(tick, everyMs);
    return () => clearInterval(timer);
  }, [running, everyMs]);
  return { ticks, tick, setRunning };
}
