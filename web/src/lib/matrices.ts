// The answers to a panel's queries over a range, asked anew as time moves on by a step.
import { useEffect, useState } from "preact/hooks";
import { useHeartbeat } from "./heartbeat";
import { type Matrix, over } from "./prom";

export interface Answers {
  matrices: Matrix[] | null;
  error: Error | null;
}

export function useMatrices(queries: string[] | null, from: number, to: number, step: number): Answers {
  const [answers, setAnswers] = useState<Answers>({ matrices: null, error: null });
  const lost = useHeartbeat().lost !== null;
  const key =
    queries &&
    `${queries.join("\n")} ${Math.floor(from / 1000 / step)} ${Math.floor(to / 1000 / step)} ${step}`;
  useEffect(() => {
    if (!queries || lost) return;
    const stop = new AbortController();
    Promise.all(queries.map((promql) => over(promql, from, to, step, stop.signal)))
      .then((matrices) => setAnswers({ matrices, error: null }))
      .catch((error: Error) => {
        if (!stop.signal.aborted) setAnswers((old) => ({ matrices: old.matrices, error }));
      });
    return () => stop.abort();
  }, [key, lost]);
  return answers;
}
