// The page's heartbeat: it tells the server's time, and shows at once when the connection is lost or back.
import { store, useStore } from "./store";
import { type Range, rangeOf, setDefaultRange } from "./time";
import { address, usePlace } from "./url";

export interface Heartbeat {
  now: number; // the server's time, in ms
  lost: number | null; // since when nothing is heard, by this machine's clock
  why: string;
}

const EVERY = 5000; // ms
const DEADLINE = 8000;
const RETRY = [500, 1000, 2000, 4000];

export const heartbeat = store<Heartbeat>({ now: 0, lost: null, why: "" });
let failures = 0;
let timer = 0;

const YOUNG = 15;
const FRESH = 2; // minutes in which not everything has been measured yet
// 180 if the server has heard of a node for hours, 60 if for a while, nothing if it has just begun.
const AGE = [
  [180, 150],
  [60, YOUNG - 3],
  [YOUNG, FRESH],
]
  .map(([shown, ago]) => `(vector(${shown}) and on () (up offset ${ago}m))`)
  .join(" or ");
let freshUntil = 0; // by the server's clock

async function learnAge(): Promise<void> {
  const { data } = (await queryServer(AGE)) as { data: { result: { value: [number, string] }[] } };
  const [known] = data.result;
  setDefaultRange(Number(known?.value[1] ?? YOUNG));
  if (!known) freshUntil = (await serverTime()) + FRESH * 60_000;
}

async function serverTime(): Promise<number> {
  const { data } = (await queryServer("time()")) as { data: { result: [number, string] } };
  return Number(data.result[1]) * 1000;
}

async function queryServer(promql: string): Promise<unknown> {
  const path = `api/v1/query?query=${encodeURIComponent(promql)}`;
  const answer = await fetch(address(path), { signal: AbortSignal.timeout(DEADLINE) });
  if (answer.status === 401) location.reload(); // the server shows its sign-in instead
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return answer.json();
}

async function pulse(): Promise<void> {
  clearTimeout(timer);
  let wait = EVERY;
  try {
    const age = heartbeat.get().now ? null : learnAge().catch(() => undefined); // then it is as usual
    const now = await serverTime();
    await age;
    failures = 0;
    if (now !== heartbeat.get().now || heartbeat.get().lost) heartbeat.set({ now, lost: null, why: "" });
  } catch (error) {
    reportLost(error);
    wait = RETRY[Math.min(failures++, RETRY.length - 1)] ?? EVERY;
  }
  clearTimeout(timer);
  if (!document.hidden) timer = window.setTimeout(pulse, wait);
}

/** Say that a request did not reach the server. */
export function reportLost(error: unknown): void {
  const { now, lost } = heartbeat.get();
  const why = error instanceof Error ? error.message : String(error);
  if (lost === null) heartbeat.set({ now: now || Date.now(), lost: Date.now(), why });
}

/** Begin; while nobody looks at the page it rests. */
export async function start(): Promise<void> {
  document.addEventListener("visibilitychange", () => !document.hidden && void pulse());
  addEventListener("online", () => void pulse());
  await pulse();
}

export function useHeartbeat(): Heartbeat {
  return useStore(heartbeat);
}

export function useNow(): number {
  return useHeartbeat().now;
}

/** Tell whether the server has just begun, so that what is not there may still come. */
export function useFresh(): boolean {
  return useNow() < freshUntil;
}

/** Return the time range of the page, which moves on while it ends now. */
export function useRange(): Range {
  const { query } = usePlace();
  return rangeOf(query, useNow());
}
