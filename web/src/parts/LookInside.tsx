// Trace and stacks of a job: the buttons, how many of its ranks can be traced, and what came of it.
import { useOnce } from "../lib/api";
import { useNow } from "../lib/heartbeat";
import { mayTrace, signIn, useSession } from "../lib/session";
import { useStore } from "../lib/store";
import { ago } from "../lib/time";
import { inside, takeStacks, traceJob, useTraces } from "../lib/traces";
import type { TraceSession, TrainerRows } from "../lib/types";
import { link, path, usePlace } from "../lib/url";
import { Stacks } from "./Stacks";

/** Findings that traces and stacks explain. */
const EXPLAINED = ["rank-hung", "spinning", "data-starved"];

/** What stands on the page of a running job. */
export function LookInside({ job, gpus }: { job: string; gpus: number }) {
  const state = useStore(inside);
  const { data } = useTraces();
  const latest = data?.traces.find(({ selection }) => selection.job === job);
  return (
    <section class="inside-job" aria-label="Look inside">
      <p class="inside">
        <Buttons job={job} />
        <Traceable job={job} gpus={gpus} />
        {latest && <Latest trace={latest} />}
      </p>
      {state.job === job && state.error && (
        <p class="refused" role="alert">
          {state.error}
        </p>
      )}
      {state.job === job && state.report && <Stacks report={state.report} />}
    </section>
  );
}

/** What a finding offers, when traces or stacks explain it. */
export function LookInsideFinding({ finding, job }: { finding: string; job: string | undefined }) {
  const who = useSession();
  const { parts } = usePlace();
  const isHere = parts[0] === "job" && parts[1] === job; // its page has the buttons already
  if (!job || isHere || !EXPLAINED.includes(finding)) return null;
  if (mayTrace(who))
    return (
      <p class="inside">
        <Buttons job={job} />
      </p>
    );
  return (
    <p class="inside">
      <a class="button" href={link(path("job", job))}>
        Traces and stacks
      </a>
    </p>
  );
}

function Buttons({ job }: { job: string }) {
  const state = useStore(inside);
  const who = useSession();
  if (!who) return null;
  if (!mayTrace(who))
    return who.user ? (
      <span class="aside">Requires role user to trace a job.</span>
    ) : (
      <a class="button" href={signIn()}>
        Sign in to trace this job
      </a>
    );
  const busy = state.job === job ? state.busy : null;
  return (
    <>
      <button type="button" class="button" disabled={busy !== null} onClick={() => void traceJob(job)}>
        {busy === "trace" ? "Starting…" : "Trace"}
      </button>
      <button type="button" class="button" disabled={busy !== null} onClick={() => void takeStacks(job)}>
        {busy === "stacks" ? "Taking stacks…" : "Stacks"}
      </button>
    </>
  );
}

function Traceable({ job, gpus }: { job: string; gpus: number }) {
  const allowed = mayTrace(useSession());
  const { data } = useOnce<TrainerRows>(allowed ? `api/trainers?job=${encodeURIComponent(job)}` : null);
  if (!data) return null;
  const ranks = data.trainers.filter(({ rank }) => rank !== null).length;
  return (
    <span class="aside" title={data.problems.join("\n") || "Trainers started with KINETO_USE_DAEMON=1"}>
      {gpus ? `Traceable: ${ranks} of ${gpus}` : `Traceable: ${ranks}`}
    </span>
  );
}

function Latest({ trace }: { trace: TraceSession }) {
  const words =
    trace.state === "open" ? "Trace in progress" : `Latest trace, ${ago(trace.created_ms, useNow())}`;
  return <a href={link(path("trace", trace.id))}>{words}</a>;
}
