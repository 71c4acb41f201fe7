// Dashboards stay as they are while a server runs: each is asked for once, as soon as a page knows that it needs it.
import { useEffect, useState } from "preact/hooks";
import { type Answer, fetchJson } from "./api";
import { useHeartbeat } from "./heartbeat";
import type { Dashboard } from "./types";
import { path } from "./url";

const WAITING: Answer<Dashboard> = { data: null, error: null, loading: true };
const asked = new Map<string, Promise<Dashboard>>();

function asking(slug: string): Promise<Dashboard> {
  const known = asked.get(slug);
  if (known) return known;
  const answer = fetchJson<Dashboard>(`api/dashboards/${path(slug)}`);
  asked.set(slug, answer);
  answer.catch(() => asked.delete(slug)); // so that it can be asked for again
  return answer;
}

/** Return a dashboard; whoever calls this before it is shown has it on its way. */
export function useDashboard(slug: string): Answer<Dashboard> {
  const [known, setKnown] = useState({ slug, answer: WAITING });
  const lost = useHeartbeat().lost !== null;
  useEffect(() => {
    let wanted = true;
    const told = (answer: Answer<Dashboard>) => wanted && setKnown({ slug, answer });
    asking(slug).then(
      (data) => told({ data, error: null, loading: false }),
      (error: Error) => told({ data: null, error, loading: false }),
    );
    return () => {
      wanted = false;
    };
  }, [slug, lost]);
  return known.slug === slug ? known.answer : WAITING;
}
