// Traces and stacks: asking for them, and how their parts are named and ordered.
import { useEffect } from "preact/hooks";
import { HttpError, sendJson, useJson } from "./api";
import { useNow } from "./heartbeat";
import { maySeeTraces, useSession } from "./session";
import { store } from "./store";
import { useTicks } from "./ticks";
import type {
  RankTrace,
  StackAnswer,
  StackReport,
  TraceDetail,
  TraceList,
  TraceRequestBody,
  TraceSession,
  TraceSummary,
} from "./types";
import { go, link, path } from "./url";

const OPEN_EVERY = 1000; // ms between looks at a trace that is under way
const STACK_DEADLINE = 60_000; // three samples of every rank, and what NCCL says

/** The states of a rank, in the order it goes through them. */
export const STEPS = ["assigned", "fetched", "tracing", "writing", "written", "collected"];

/** The kinds of time, in the order they are stacked, each with its words. */
export const KINDS: Record<string, string> = {
  compute: "compute",
  communication: "communication",
  copy: "copies",
  data: "data loader",
  sync: "waiting for the GPU",
  launch: "launching kernels",
  outside: "outside operators",
  "between-kernels": "between kernels",
};

/** Return the name of a rank's file, as the server makes it. */
export function labelOf(rank: RankTrace): string {
  return rank.rank === null ? `${rank.node}-${rank.pid}` : `rank${rank.rank}`;
}

export function nameOf(rank: RankTrace): string {
  return rank.rank === null ? `pid ${rank.pid}` : `rank ${rank.rank}`;
}

export function filePath(trace: TraceSession, rank: RankTrace): string {
  return `api/traces/${path(trace.id, `${labelOf(rank)}.json.gz`)}`;
}

export function collected(trace: TraceSession): RankTrace[] {
  return trace.ranks.filter(({ state }) => state === "collected");
}

export function sizeOf(trace: TraceSession): number {
  return trace.ranks.reduce((sum, rank) => sum + rank.collected_bytes, 0);
}

/** Return one sentence about a trace: what it found, or how far it is. */
export function sentenceOf(trace: TraceSession): string {
  const files = `${collected(trace).length} of ${trace.ranks.length} files collected`;
  if (trace.state === "open") return `In progress: ${files}.`;
  if (trace.state === "cancelled") return `Cancelled: ${files}.`;
  if (trace.state === "failed")
    return [`Failed: ${files}.`, trace.ranks.find((rank) => rank.reason)?.reason].filter(Boolean).join(" ");
  return trace.verdict || `Done: ${files}.`;
}

/** A rank with what its file says. */
export interface RankSummary {
  rank: RankTrace;
  summary: TraceSummary;
}

/** Return the ranks that have a summary: the slow one first, then by number. */
export function summarized({ session, comparison, summaries }: TraceDetail): RankSummary[] {
  const place = ({ rank }: RankTrace) =>
    rank !== null && rank === comparison?.slow_rank ? -1 : (rank ?? Number.MAX_SAFE_INTEGER);
  return [...session.ranks]
    .sort((a, b) => place(a) - place(b))
    .flatMap((rank) => {
      const summary = summaries[labelOf(rank)];
      return summary ? [{ rank, summary }] : [];
    });
}

/** Return the library, asked anew at each heartbeat, and each second while a trace is under way. */
export function useTraces() {
  const allowed = maySeeTraces(useSession());
  const now = useNow();
  const { ticks, setRunning } = useTicks(OPEN_EVERY);
  const answer = useJson<TraceList>(allowed ? "api/traces" : null, `${now} ${ticks}`);
  const running = answer.data?.traces.some(({ state }) => state === "open") ?? false;
  useEffect(() => setRunning(running), [running]);
  return { allowed, ...answer };
}

/** Return a trace, asked anew each second while it is under way. */
export function useTrace(id: string) {
  const allowed = maySeeTraces(useSession());
  const { ticks, setRunning, tick } = useTicks(OPEN_EVERY);
  const answer = useJson<TraceDetail>(allowed ? `api/traces/${path(id)}` : null, ticks);
  const running = answer.data?.session.state === "open";
  useEffect(() => setRunning(running), [running]);
  return { allowed, ...answer, reload: tick };
}

/** What was asked of a job from this page: its stacks, or why something was refused. */
export interface Inside {
  job: string;
  busy: "trace" | "stacks" | null;
  report: StackReport | null;
  error: string;
}

export const inside = store<Inside>({ job: "", busy: null, report: null, error: "" });

/** Trace all ranks of a job and show the progress; a refusal is shown on the job's page. */
export async function traceJob(job: string): Promise<void> {
  await lookInside(job, "trace", async () => {
    const body: TraceRequestBody = { selection: { job } };
    const { session } = await sendJson<TraceDetail>("POST", "api/traces", body);
    go(link(path("trace", session.id)));
    return null;
  });
}

/** Take the stacks of a job and show them on its page. */
export async function takeStacks(job: string): Promise<void> {
  go(link(path("job", job)));
  await lookInside(job, "stacks", async () => {
    const answer = await sendJson<StackAnswer>("POST", "api/stacks", { job }, STACK_DEADLINE);
    return answer.report;
  });
}

async function lookInside(
  job: string,
  busy: "trace" | "stacks",
  ask: () => Promise<StackReport | null>,
): Promise<void> {
  inside.set({ job, busy, report: null, error: "" });
  try {
    inside.set({ job, busy: null, report: await ask(), error: "" });
  } catch (error) {
    inside.set({ job, busy: null, report: null, error: reason(error) });
    go(link(path("job", job)));
  }
}

/** Return why a request failed, in words. */
export function reason(error: unknown): string {
  if (error instanceof HttpError && error.status === 403)
    return "Only an admin or the job's user may do this.";
  return error instanceof Error ? error.message : String(error);
}
