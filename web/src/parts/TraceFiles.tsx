// The files of a trace: download each, or open it in Perfetto.
import { useState } from "preact/hooks";
import { filePath, nameOf } from "../lib/traces";
import type { RankTrace, TraceSession } from "../lib/types";
import { formatValue } from "../lib/units";
import { address } from "../lib/url";
import { Copy } from "./CopyAs";

const FIRST_ROWS = 8;
const INSTALL = "pip install 'vigie[perfetto]'";

export function TraceFiles({
  trace,
  ranks,
  hasPerfetto,
}: {
  trace: TraceSession;
  ranks: RankTrace[];
  hasPerfetto: boolean;
}) {
  const [all, setAll] = useState(false);
  const shown = all ? ranks : ranks.slice(0, FIRST_ROWS);
  return (
    <section class="card trace-files">
      <h2>Files</h2>
      {!hasPerfetto && (
        <p class="line">
          To open files in Perfetto here, install it on the server: <code>{INSTALL}</code>
          <Copy text={INSTALL} label="Copy command" />
        </p>
      )}
      <ul>
        {shown.map((rank) => (
          <li key={nameOf(rank)}>
            <span class="rank-name">
              {nameOf(rank)} <span class="aside">{rank.node}</span>
            </span>
            {hasPerfetto && (
              <a class="button" href={perfettoAddress(trace, rank)} target="_blank" rel="noreferrer">
                Open in Perfetto
              </a>
            )}
            <a class="button" href={address(filePath(trace, rank))} download>
              Download
            </a>
            <span class="aside">{formatValue(rank.collected_bytes || null, "bytes")}</span>
          </li>
        ))}
      </ul>
      {ranks.length > shown.length && (
        <button type="button" class="button below" onClick={() => setAll(true)}>
          Show all {ranks.length} files
        </button>
      )}
    </section>
  );
}

/** Return where our own Perfetto opens a rank's file; without a named route it looks for a local server. */
export function perfettoAddress(trace: TraceSession, rank: RankTrace): string {
  const file = encodeURIComponent(address(filePath(trace, rank)));
  return `${address("perfetto/")}#!/viewer?url=${file}`;
}
