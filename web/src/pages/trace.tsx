// One trace: which rank differs and in what, where the time of each went, and its files.
import { sendJson } from "../lib/api";
import { useNow } from "../lib/heartbeat";
import { mayTrace, useSession } from "../lib/session";
import { collected, nameOf, type RankSummary, sentenceOf, summarized, useTrace } from "../lib/traces";
import type { TraceDetail, TraceSession } from "../lib/types";
import { formatValue } from "../lib/units";
import { go, link, path } from "../lib/url";
import { Waiting } from "../parts/Absent";
import { Confirm } from "../parts/Confirm";
import { nodesFact, plainFact, timeFact } from "../parts/Facts";
import { PageHeader } from "../parts/PageHeader";
import { RankShares } from "../parts/RankShares";
import { SignInFor } from "../parts/SignInFor";
import { Gaps, OperatorTables, stepsOf } from "../parts/TraceDetails";
import { TraceFiles } from "../parts/TraceFiles";
import { countStates, TraceProgress } from "../parts/TraceProgress";
import { Verdict } from "../parts/Verdict";

export default function Trace({ parts }: { parts: string[] }) {
  const id = parts[0] ?? "";
  const { allowed, data, error, reload } = useTrace(id);
  if (!allowed)
    return (
      <div class="page trace">
        <PageHeader kind="Trace" title={id} command={`vigie trace show ${id}`} />
        <SignInFor what="see traces" />
      </div>
    );
  if (!data) return <Waiting error={error} what={`Trace ${id}`} />;
  const { session } = data;
  return (
    <div class="page trace">
      <Header trace={session} />
      <Verdict verdict={verdictOf(data)} />
      <Changes trace={session} reload={reload} />
      <Remarks trace={session} />
      <Results detail={data} />
      <section class="card">
        <h2>{session.state === "open" ? "Progress" : "Ranks"}</h2>
        <TraceProgress ranks={session.ranks} />
      </section>
    </div>
  );
}

function Header({ trace }: { trace: TraceSession }) {
  const { job } = trace.selection;
  const now = useNow();
  return (
    <PageHeader
      kind="Trace"
      title={job ? `of job ${job}` : trace.id}
      command={`vigie trace show ${trace.id}`}
      facts={[
        plainFact("id", trace.id),
        job ? { label: "job", value: <a href={link(path("job", job))}>{job}</a> } : null,
        plainFact("by", trace.owner),
        timeFact("taken", trace.created_ms, now),
        plainFact("window", windowOf(trace)),
        plainFact("ranks", countStates(trace.ranks)),
        nodesFact([...new Set(trace.ranks.map(({ node }) => node))].sort()),
      ]}
    />
  );
}

function windowOf({ iterations, duration_ms }: TraceSession): string {
  return iterations ? `${iterations} iterations` : formatValue(duration_ms, "milliseconds");
}

function verdictOf({ session, comparison }: TraceDetail) {
  const differs = comparison !== null && comparison.slow_rank !== null;
  const state = session.state === "failed" || differs ? ("warning" as const) : ("ok" as const);
  return {
    state: session.state === "done" || session.state === "failed" ? state : ("unknown" as const),
    sentence: comparison?.sentence ?? sentenceOf(session),
  };
}

function Changes({ trace, reload }: { trace: TraceSession; reload: () => void }) {
  if (!mayTrace(useSession())) return null;
  const where = `api/traces/${path(trace.id)}`;
  if (trace.state === "open")
    return (
      <Confirm
        label="Cancel"
        question="Cancel this trace? What is being recorded is dropped."
        act={async () => {
          await sendJson("POST", `${where}/cancel`);
          reload();
        }}
      />
    );
  return (
    <Confirm
      label="Remove"
      question={`Remove this trace with its ${collected(trace).length} files?`}
      act={async () => {
        await sendJson("DELETE", where);
        go(link("traces"));
      }}
    />
  );
}

function Remarks({ trace }: { trace: TraceSession }) {
  if (!trace.remarks.length) return null;
  return (
    <ul class="remarks" aria-label="Remarks">
      {trace.remarks.map((remark) => (
        <li key={remark}>{remark}</li>
      ))}
    </ul>
  );
}

function Results({ detail }: { detail: TraceDetail }) {
  const { session, comparison } = detail;
  const ranks = summarized(detail);
  const shown = ranks[0];
  if (!shown) return null;
  const peer = find(ranks, comparison?.peer_rank ?? null);
  return (
    <>
      <section class="card">
        <h2>Where the time goes, per rank</h2>
        <p class="why">
          {`Shares of the window, each moment counted once. The slow rank has the least communication: the others wait for it. ${stepsOf(shown)}`}
        </p>
        <RankShares ranks={ranks} slow={comparison?.slow_rank ?? null} />
        {comparison !== null && comparison.different_ranks.length > 0 && (
          <p class="aside">{`Other operators by design, not compared: ranks ${comparison.different_ranks.join(", ")}.`}</p>
        )}
      </section>
      <TraceFiles trace={session} ranks={inOrder(ranks, session)} hasPerfetto={detail.has_perfetto} />
      <OperatorTables shown={shown} peer={peer} />
      <Gaps of={shown} />
      <Messages ranks={ranks} />
    </>
  );
}

/** Return the collected files, the rank that is looked at first; a file that could not be read is one too. */
function inOrder(ranks: RankSummary[], session: TraceSession) {
  const read = ranks.map(({ rank }) => rank);
  return [...read, ...collected(session).filter((rank) => !read.includes(rank))];
}

function find(ranks: RankSummary[], number: number | null): RankSummary | null {
  return number === null ? null : (ranks.find(({ rank }) => rank.rank === number) ?? null);
}

/** What the profiler itself warned about. */
function Messages({ ranks }: { ranks: RankSummary[] }) {
  const told = ranks.filter(({ summary }) => summary.messages.length);
  if (!told.length) return null;
  return (
    <section class="card">
      <h2>Profiler messages</h2>
      <ul class="remarks">
        {told.map(({ rank, summary }) => (
          <li key={nameOf(rank)}>{`${nameOf(rank)}: ${summary.messages.join(" ")}`}</li>
        ))}
      </ul>
    </section>
  );
}
