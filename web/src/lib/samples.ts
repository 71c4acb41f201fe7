// The answers to a panel's queries at one moment.
import { useEffect, useState } from "preact/hooks";
import { useHeartbeat } from "./heartbeat";
import { instant, type Sample } from "./prom";

export interface Found {
  samples: Sample[][] | null; // of each query
  error: Error | null;
}

const EVERY = 10_000; // ms between two questions at most

export function useSamples(queries: string[] | null, at: number): Found {
  const [found, setFound] = useState<Found>({ samples: null, error: null });
  const lost = useHeartbeat().lost !== null;
  const key = queries && `${queries.join("\n")} ${Math.floor(at / EVERY)}`;
  useEffect(() => {
    if (!queries || lost) return;
    const stop = new AbortController();
    Promise.all(queries.map((promql) => instant(promql, at, stop.signal)))
      .then((samples) => setFound({ samples, error: null }))
      .catch((error: Error) => {
        if (!stop.signal.aborted) setFound((old) => ({ samples: old.samples, error }));
      });
    return () => stop.abort();
  }, [key, lost]);
  return found;
}
