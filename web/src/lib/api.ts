// Asks the server, keeps the last answer while the next is on its way, and the last few for the Back button.
import { useEffect, useRef, useState } from "preact/hooks";
import { reportLost, useHeartbeat } from "./heartbeat";
import { moment } from "./time";
import { address, usePlace } from "./url";

const DEADLINE = 30_000; // ms
const MAX_KEPT = 60; // answers kept
const AGAIN = 1000; // ms until an answer that says it is unfinished is asked for again

/** The server refused, and said why. */
export class HttpError extends Error {
  constructor(
    readonly status: number,
    why: string,
  ) {
    super(why);
  }
}

export interface Answer<T> {
  data: T | null;
  error: Error | null;
  loading: boolean;
}

const kept = new Map<string, unknown>();

function keep(path: string, data: unknown): void {
  kept.delete(path);
  kept.set(path, data);
  if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value as string);
}

/** Return the JSON at a path such as "api/session". */
export async function fetchJson<T>(path: string, signal?: AbortSignal, body?: URLSearchParams): Promise<T> {
  return request<T>(path, { method: body ? "POST" : "GET", body: body ?? null }, signal);
}

/** Change something on the server; the browser tells it that the request comes from its own page. */
export async function sendJson<T>(
  method: "POST" | "DELETE",
  path: string,
  body?: unknown,
  deadline = DEADLINE,
): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  const text = body === undefined ? null : JSON.stringify(body);
  return request<T>(path, { method, headers, body: text }, undefined, deadline);
}

async function request<T>(path: string, asked: RequestInit, signal?: AbortSignal, ms = DEADLINE): Promise<T> {
  const deadline = AbortSignal.timeout(ms);
  const any = signal ? AbortSignal.any([signal, deadline]) : deadline;
  let answer: Response;
  try {
    answer = await fetch(address(path), { ...asked, signal: any });
  } catch (error) {
    if (deadline.aborted) throw new Error(`no answer came within ${ms / 1000} s`);
    if (!signal?.aborted) reportLost(error);
    throw error;
  }
  if (answer.status === 401) location.reload(); // the server shows its sign-in instead
  if (!answer.ok) throw new HttpError(answer.status, await why(answer));
  return (await answer.json()) as T;
}

async function why(answer: Response): Promise<string> {
  const text = await answer.text();
  try {
    const body = JSON.parse(text) as { error?: string };
    return body.error ?? text;
  } catch {
    return text.slice(0, 200) || `the server answered ${answer.status}`;
  }
}

/** Return what a path answers, asked anew whenever it or `turn` changes; null asks nothing. */
export function useJson<T>(path: string | null, turn: unknown = 0): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>(() => first<T>(path));
  const asking = useRef<{ path: string; stop: AbortController } | null>(null);
  useEffect(() => {
    setAnswer(first<T>(path));
    return () => {
      asking.current?.stop.abort();
      asking.current = null;
    };
  }, [path]);
  useEffect(() => {
    if (path === null || asking.current) return; // a slow answer is waited for, not asked for again
    const mine = { path, stop: new AbortController() };
    asking.current = mine;
    const settled = (done: (old: Answer<T>) => Answer<T>) => {
      if (asking.current !== mine) return;
      asking.current = null;
      setAnswer(done);
    };
    fetchJson<T>(path, mine.stop.signal)
      .then((data) => {
        keep(path, data);
        settled(() => ({ data, error: null, loading: false }));
      })
      .catch((error: Error) => settled((old) => ({ data: old.data, error, loading: false })));
  }, [path, turn]);
  return answer;
}

function first<T>(path: string | null): Answer<T> {
  const data = path === null ? null : ((kept.get(path) as T | undefined) ?? null);
  return { data, error: null, loading: path !== null };
}

/** Return a page such as "nodes/gpu01" at the moment the page looks at, asked anew at each heartbeat. */
export function usePage<T>(name: string | null, query: Record<string, string> = {}): Answer<T> {
  const at = usePlace().query.get("at");
  const { now, lost } = useHeartbeat();
  const first = useRef(0);
  first.current ||= now; // the first heartbeat comes beside the first answer, which is as new
  const parameters = new URLSearchParams(query);
  const when = moment(at, now);
  if (when !== null) parameters.set("at", String(when / 1000));
  const path = name === null ? null : `api/pages/${name}${parameters.size ? `?${parameters}` : ""}`;
  const [again, setAgain] = useState(0);
  const turn = `${at || now === first.current ? 0 : now} ${lost === null} ${again}`;
  const answer = useJson<T>(path, turn);
  const { unfinished = false } = (answer.data ?? {}) as { unfinished?: boolean };
  useEffect(() => {
    if (!unfinished) return; // else asked anew also where the clock stands still
    const timer = setTimeout(() => setAgain((n) => n + 1), AGAIN);
    return () => clearTimeout(timer);
  }, [answer, unfinished]);
  return answer;
}

/** Ask once the heartbeat has found the server, for what seldom changes. */
export function useOnce<T>(path: string | null): Answer<T> {
  return useJson<T>(path, useHeartbeat().lost === null);
}
